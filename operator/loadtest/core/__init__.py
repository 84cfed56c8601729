"""The pure core: from a spec to a plan, from the observed world to one decision, from both to the status.

Nothing here awaits, reads a clock, the environment or a socket: the same input gives the same output.
Read in this order:

- `presets`, `expand`: spec -> `RunPlan` (variants, repeats in order, stages);
- `observed`: what the adapters saw of the world; `rollout`, `pods`: judgements about pods and Deployments;
- `decide`: plan and observed world -> one `actions.Action`, or a wait, or the end;
- `project`: observed world and decision -> status, conditions, events;
- `manifests`, `injector_pods`: the objects that the cluster adapters create.
"""
