// One virtual user: the page, or the page and its form with the cookie and the token that it gave.
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const pair = __ENV.PAIR === '1';
const url = __ENV.URL;
const wrong = new Counter('wrong');
const token = /name="csrf_token"[^>]*value="([^"]+)"/;
const once = { redirects: 0 };
const form = { headers: { Referer: url }, redirects: 0, responseType: 'none' };

export const options = {
  vus: Number(__ENV.USERS),
  duration: `${__ENV.SECONDS}s`,
  // Where nothing is looked for in the page, k6 need not keep it.
  discardResponseBodies: !pair,
};

export default function () {
  const page = http.get(url, once);
  if (page.status !== 200) wrong.add(1);
  if (!pair) return;
  const found = token.exec(page.body);
  if (found === null) {
    wrong.add(1);
    return;
  }
  const sent = { csrf_token: found[1], 'first-name': 'Joe', 'middle-names': '', 'last-name': 'Bloggs' };
  if (http.post(url, sent, form).status !== 302) wrong.add(1);
}

export function handleSummary(data) {
  const { http_reqs: requests, wrong: failures } = data.metrics;
  return {
    stdout: JSON.stringify({
      requests: requests.values.count,
      micros: data.state.testRunDurationMs * 1000,
      failures: failures ? failures.values.count : 0,
    }),
  };
}
