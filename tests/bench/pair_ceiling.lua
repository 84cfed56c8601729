-- The requests of the journey's pair and nothing else: no answer is read, the cookie and the token come as arguments.
-- What wrk makes so is no journey; it is what a core can carry at most.
local get, post
local forms = false

function init(args)
  local headers = {
    ["Content-Type"] = "application/x-www-form-urlencoded",
    ["Cookie"] = args[1],
    ["Referer"] = wrk.scheme .. "://" .. wrk.host .. wrk.path,
  }
  local form = "csrf_token=" .. args[2] .. "&first-name=Joe&middle-names=&last-name=Bloggs"
  get = wrk.format("GET", wrk.path, { ["Cookie"] = args[1] })
  post = wrk.format("POST", wrk.path, headers, form)
end

function request()
  forms = not forms
  return forms and post or get
end

done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{"requests": %d, "micros": %d, "failures": %d}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
