package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"kpsim/campaign/board"
)

// Options say where the page is served.
type Options struct {
	Listen    string // HOST:PORT; port 0 is any
	Insecure  bool   // listen beyond loopback without TLS
	Cert, Key string // of TLS; "": none
}

// A Server serves the page until it is stopped.
type Server struct {
	URL  string
	http http.Server
}

// Serve begins to serve the page of a board's campaigns. Errors are about the options.
func Serve(b *board.Board, o Options) (*Server, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("--http %q: give HOST:PORT, as in 127.0.0.1:8080", o.Listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, fmt.Errorf("--http %q: there is no port %q", o.Listen, port)
	}
	local := loopback(host)
	if !local && o.Cert == "" && !o.Insecure {
		return nil, fmt.Errorf("--http %s: others could read along; give --tls-cert and --tls-key, or say "+
			"--insecure in a network of your own", o.Listen)
	}
	var with *tls.Config
	scheme := "http"
	if o.Cert != "" {
		cert, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert %s --tls-key %s: %w", o.Cert, o.Key, err)
		}
		scheme, with = "https", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	at, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w", o.Listen, withoutAddress(err))
	}
	addr := at.Addr().(*net.TCPAddr)
	named := addr.String()
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		named = net.JoinHostPort(host, fmt.Sprint(addr.Port))
	}
	s := &Server{URL: scheme + "://" + named + "/"}
	s.http = http.Server{
		Handler: guard(newPages(b).handler(), local), TLSConfig: with, MaxHeaderBytes: 16 << 10,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // of clients that give up
	}
	go func() {
		if with != nil {
			_ = s.http.ServeTLS(at, "", "") // it ends when it is stopped
			return
		}
		_ = s.http.Serve(at)
	}()
	return s, nil
}

// Stop stops the server; answers under way have a second.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
}

// withoutAddress removes the address from an error; the message around it names the address.
func withoutAddress(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return errors.New("another program listens there; name another port, or 0 for any that is free")
	case errors.Is(err, os.ErrPermission):
		return errors.New("ports below 1024 need root; name a higher one, or 0 for any that is free")
	}
	if op := new(net.OpError); errors.As(err, &op) {
		return op.Err
	}
	return err
}

// loopback reports whether a host is this computer under an address that others can't reach.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// guard lets through only reading, and on loopback only requests to a loopback name.
func guard(h http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			head.Set("Allow", "GET, HEAD")
			http.Error(w, "this server is read only", http.StatusMethodNotAllowed)
		case local && !loopback(hostOf(r.Host)):
			http.Error(w, "this server answers to localhost only", http.StatusMisdirectedRequest)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// hostOf is a Host header without its port and brackets.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		return s[1 : len(s)-1]
	}
	return s
}
