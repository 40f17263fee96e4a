package smp

import "context"

type machine struct {
	done chan int // want channel
}

type signal <-chan struct{} // want channel

func (m *machine) wait(s signal) int { // want channel
	m.done <- 1   // want channel
	for range s { // want channel
	}
	return <-m.done // want channel
}

func library(ctx context.Context) {
	d := ctx.Done() // want channel
	_ = d           // want channel
}
