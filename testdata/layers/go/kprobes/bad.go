package kprobes

func start(f func()) {
	go f() // want go
	f()
	go func() { // want go
		f()
	}()
}
