"""What one core of load generator makes: ours beside Locust's FastHttpUser, k6 and wrk, on one machine."""
