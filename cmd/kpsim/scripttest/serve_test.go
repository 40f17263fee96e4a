package scripttest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kpsim/internal/testkit/proctest"
)

// serveTimeout is for a computer that has much else to do.
const serveTimeout = time.Minute

// serve STATUS kpsim view ARGS: runs it until it has printed an address, looks at what is
// there, and interrupts it.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	path := func(name string) string {
		p, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], name))
		ts.Check(err)
		return p
	}
	cmd := exec.Command(path(args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	address, found := strings.CutSuffix(line, "  (until ^C)\n")
	u, err := url.Parse(address)
	if !found || err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" {
		ts.Fatalf("no address: %q", line)
	}

	client := &http.Client{Timeout: serveTimeout}
	get := func(host string) (int, string) {
		r, err := http.NewRequest("GET", address, nil)
		ts.Check(err)
		if host != "" {
			r.Host = host
		}
		a, err := client.Do(r)
		ts.Check(err)
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		ts.Check(err)
		return a.StatusCode, string(body)
	}
	if status, body := get(""); status != 200 || !strings.HasSuffix(body, "</html>\n") {
		ts.Fatalf("status %d, %d bytes", status, len(body))
	}
	if status, body := get("race.example:" + u.Port()); status != 403 || strings.Contains(body, "<") {
		ts.Fatalf("of another name: status %d, %s", status, body)
	}
	others, err := net.InterfaceAddrs()
	ts.Check(err)
	for _, o := range others {
		if ip, _, err := net.ParseCIDR(o.String()); err == nil && !ip.IsLoopback() {
			if c, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), u.Port()), time.Second); err == nil {
				c.Close()
				ts.Fatalf("it can be reached at %s", ip)
			}
		}
	}

	// The port is in use now.
	second := exec.Command(path(args[1]), append([]string{"view", "--port", u.Port()}, args[len(args)-1])...)
	second.Dir = cmd.Dir
	both, err := second.CombinedOutput()
	lines := strings.Split(strings.TrimSuffix(string(both), "\n"), "\n")
	want := fmt.Sprintf("kpsim: --port: %s can't be listened at: ", u.Port())
	if proctest.ExitStatus(ts, err) != badInput || !strings.HasPrefix(lines[len(lines)-1], want) {
		ts.Fatalf("of a port in use: %v: %s", err, both)
	}

	idle, err := net.Dial("tcp", u.Host) // doesn't keep it from ending
	ts.Check(err)
	defer idle.Close()
	began := time.Now()
	ts.Check(cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(out)
	ts.Check(err)
	if status := proctest.ExitStatus(ts, cmd.Wait()); strconv.Itoa(status) != args[0] || len(rest) > 0 {
		ts.Fatalf("exit status %d, %q", status, rest)
	}
	if time.Since(began) > serveTimeout {
		ts.Fatalf("it took %v to end", time.Since(began))
	}
}
