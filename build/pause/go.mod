module loadtest.local/build/pause

go 1.24.0
