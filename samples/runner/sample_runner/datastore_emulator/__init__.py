"""A small server in memory that speaks what the official Datastore client uses: over HTTP and over gRPC."""
