"""kopf, and only kopf: one daemon per LoadTest that calls `step`, wake-ups, the finalizer, the operator's health."""
