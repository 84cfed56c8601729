-- The journey's pair: the page, then its form with the cookie and the token that the page gave. wrk's scripts know no
-- single connection: pages and forms take turns over all of them, with what the last page gave.
local token, cookie, get, post
local forms = false

function init(args)
  get = wrk.format("GET", wrk.path)
end

local function prepare()
  local headers = {
    ["Content-Type"] = "application/x-www-form-urlencoded",
    ["Cookie"] = cookie,
    ["Referer"] = wrk.scheme .. "://" .. wrk.host .. wrk.path,
  }
  local form = "csrf_token=" .. token .. "&first-name=Joe&middle-names=&last-name=Bloggs"
  get = wrk.format("GET", wrk.path, { ["Cookie"] = cookie })
  post = wrk.format("POST", wrk.path, headers, form)
end

function request()
  forms = not forms and post ~= nil
  return forms and post or get
end

function response(status, headers, body)
  if status ~= 200 then return end
  local found = string.match(body, 'name="csrf_token"[^>]-value="([^"]+)"')
  local set = string.match(headers["Set-Cookie"], "^[^;]+")
  if found ~= token or set ~= cookie then
    token, cookie = found, set
    prepare()
  end
end

done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{"requests": %d, "micros": %d, "failures": %d}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
