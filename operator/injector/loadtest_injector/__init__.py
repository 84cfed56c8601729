"""Runs inside the Locust pods of one repeat: one master and its workers, kept through all stages of the repeat.

    operator --HTTP, bearer token--> control --> master --> stage          (one attempt: joining .. record)
                                                              |  workers   (who is there; starts and stops users)
                                                              |  tally     (adds up the parts) --> record
                     Locust's connection (own `messages`)     |
                                                              v
                                     worker --> agent         (clock, schedule, parts, CPU)
                                                  | recorder  (every request, in the segment in which it began)
                                                  v
                                     users --> replay --> client --> http --> target
                                                  ^ requests_file, launch (tokens)

A locustfile of one's own takes `loadtest_injector.http.FastUser` for its base class. The users of a requests file fire
no event of Locust: its own statistics, and the web page that shows them, are off where the recorder counts.

How a stage runs. The operator orders it with PUT. Once exactly the expected workers are ready, the master tells them to
PREPARE; each measures its distance to the master's monotonic clock by pings. Locust deals out and spawns the users
(segment ramp). When all run, the master announces, a second ahead, when warm-up and window begin and the window ends
(SCHEDULE); from then on each worker decides by its own clock in which segment a request begins, marks it with
`X-LoadTest-Window`, and records it there when it ends. Every second a worker sends the requests that ended since (PART,
numbered). After the window users go on until the last request begun in it has ended; then the worker sends its final
part with its own totals. When all final parts are in, the master stops the users, compares the totals with what arrived
and makes the record.

Pure modules (standard library only): histogram, requests_file, order, recorder, tally, record, problems, clock, cpu,
scenario, settings, exchange, control. The operator imports histogram and requests_file.
"""
