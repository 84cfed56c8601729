-- One page again and again; prints what was counted.
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{"requests": %d, "micros": %d, "failures": %d}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
