package cli

// Exit statuses. If several hold, the process exits with the first of Bug, Interrupted or Terminated,
// Against, BadInput.
const (
	OK          = 0
	Against     = 1   // an observation against expectation
	BadInput    = 2   // or a file that could not be written
	Bug         = 3   // of the simulator
	Interrupted = 130 // by ^C
	Terminated  = 143 // by SIGTERM, which timeout and CI send
)
