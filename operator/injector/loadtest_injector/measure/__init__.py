"""Measurements beside the load, taken by the master: what a backend did while a stage's window ran.

    sources     the order's `measurements`, checked field by field
    series      the points of one measurement, each with its time, and why points are missing
    redis       a Redis server by INFO, once a second through the window
    pods        CPU and memory of pods by the metrics API
    prometheus  a query of a Prometheus, once, after the window
    cloud_monitoring, cloud_monitoring_client
                series of Google Cloud Monitoring, after the window, through a process of its own
    sampling    all measurements of one attempt

They are taken here and not by the operator, so that an operator that restarts loses no point. The series go into the
stage record as they are; figures are computed from them later, and by others. Nothing here ever fails a stage: a
source that does not answer leaves points out and says why.
"""
