"""The messages between master and workers beside Locust's own: their names and what they carry.

They ride on Locust's connection as custom messages. Parts are not put into Locust's stats report, because that one goes
out on Locust's timer and from its quit: a part must go out when the window has drained, exactly once and last.

| name     | from   | carries                                                                            |
|----------|--------|------------------------------------------------------------------------------------|
| PRESENCE | worker | name, users, cpuPercent; every second: who it is and that it lives                 |
| PREPARE  | master | stage, requestTimeoutSeconds, workers (their names), arrivalsPerSecond: an attempt begins |
| PING     | worker | sent                                                                               |
| PONG     | master | sent, master: its monotonic clock                                                  |
| PREPARED | worker | stage, offset, uncertainty of the clock; classes: name, weight, fixed count of each user class |
| SCHEDULE | master | stage, warmUpAt, windowAt, windowEnd, on the master's monotonic clock, announced ahead |
| ACCEPTED | worker | stage, inTime: whether it heard before the first of these instants                 |
| PART     | worker | what was recorded since the last part (Recorder.take_part); the final one also CPU |
| END      | master | stage: no more parts are wanted                                                    |

`stage` is [repeat, stage, attempt], so that a message of an attempt that is over is known as such.
"""

PRESENCE = "loadtest-presence"
PREPARE = "loadtest-prepare"
PING = "loadtest-ping"
PONG = "loadtest-pong"
PREPARED = "loadtest-prepared"
SCHEDULE = "loadtest-schedule"
ACCEPTED = "loadtest-accepted"
PART = "loadtest-part"
END = "loadtest-end"
