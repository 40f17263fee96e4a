package faults

import (
	"net"
	"sync"
	"time"
)

// A Proxy is the network between workers and a server.
type Proxy struct {
	l  net.Listener
	to string

	mu     sync.Mutex // guards the rest
	open   map[net.Conn]bool
	delay  time.Duration // of each piece
	rate   int           // bytes a second and direction; 0: any
	silent chan struct{} // closed when silence is over; nil: not silent
}

// NewProxy listens on loopback, and connects to an address.
func NewProxy(to string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{l: l, to: to, open: make(map[net.Conn]bool)}
	go p.accept()
	return p, nil
}

// Addr is the address that the proxy listens on.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Close closes the proxy.
func (p *Proxy) Close() {
	p.l.Close()
	p.Silent(false)
	p.Cut()
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

// Slow delays each piece, and bounds the bytes a second.
func (p *Proxy) Slow(delay time.Duration, rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.rate = delay, rate
}

// Silent holds back all data, as a network that drops each packet does; when silence is over the data goes on, as TCP
// sends it again.
func (p *Proxy) Silent(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.silent == nil:
		p.silent = make(chan struct{})
	case !on && p.silent != nil:
		close(p.silent)
		p.silent = nil
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		go p.join(c)
	}
}

func (p *Proxy) join(c net.Conn) {
	p.hold()
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.open[c], p.open[s] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.carry(c, s) })
	both.Go(func() { p.carry(s, c) })
	both.Wait()
	p.mu.Lock()
	delete(p.open, c)
	delete(p.open, s)
	p.mu.Unlock()
}

// hold waits while the proxy is silent.
func (p *Proxy) hold() {
	p.mu.Lock()
	silent := p.silent
	p.mu.Unlock()
	if silent != nil {
		<-silent
	}
}

type piece struct {
	data []byte
	due  time.Time
}

// carry carries bytes one way, and closes both ends when one is closed.
func (p *Proxy) carry(from, to net.Conn) {
	defer to.Close()
	defer from.Close()
	pieces := make(chan piece, 64)
	go func() {
		defer close(pieces)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				p.mu.Lock()
				due := time.Now().Add(p.delay)
				p.mu.Unlock()
				pieces <- piece{data[:n], due}
			}
			if err != nil {
				return
			}
		}
	}()
	for x := range pieces {
		p.hold()
		time.Sleep(time.Until(x.due))
		p.mu.Lock()
		rate := p.rate
		p.mu.Unlock()
		if rate > 0 {
			time.Sleep(time.Duration(len(x.data)) * time.Second / time.Duration(rate))
		}
		if _, err := to.Write(x.data); err != nil {
			from.Close()
			for range pieces { // so that the reader ends
			}
			return
		}
	}
}
