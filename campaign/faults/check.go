package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
)

// ErrCannot: this computer can't do what a schedule asks for.
var ErrCannot = errors.New("not possible here")

// firstID is the ID of a server's only campaign.
const firstID = "campaign-1"

// A Ground holds what all schedules share: programs, plans, and the output of kpsim explore.
type Ground struct {
	*Programs
	dir   string
	mu    sync.Mutex // guards the rest
	plans map[bool]*plan.Campaign
	wants map[bool]*reportText
	seeds string // a folder with keys
}

// reportText is a report: its text, and the witnesses that it has written, by name.
type reportText struct {
	out    string
	status int
	traces map[string]string
}

// NewGround prepares a Ground in a folder.
func NewGround(p *Programs, dir string) *Ground {
	return &Ground{Programs: p, dir: dir, plans: make(map[bool]*plan.Campaign), wants: make(map[bool]*reportText)}
}

// Kernel is the kernel of the campaign that a worker with a full disk can't help with.
func Kernel() string {
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".cache/kpsim/kernels/6.1.0-56-amd64/vmlinuz")
}

// flags are those of the campaign: one scenario has a canary to be found, others break.
func flags(kernel bool) []string {
	if kernel {
		return []string{"torn-jump", "safe-none", "second-instruction", "--strategy", "random", "--runs", "5000",
			"--kernel",
			Kernel()}
	}
	return []string{"torn-jump", "second-instruction", "safe-none", "full-rcu", "--runs", "60000"}
}

// Prepare makes the plan of a campaign and the output of kpsim explore, once.
func (g *Ground) Prepare(kernel bool) error {
	if g.plan(kernel) != nil {
		return nil
	}
	if _, err := os.Stat(Kernel()); kernel && err != nil {
		return fmt.Errorf("%w: %w", ErrCannot, err)
	}
	dir, err := os.MkdirTemp(g.dir, "want")
	if err != nil {
		return err
	}
	explore := exec.Command(g.Kpsim, append([]string{"explore"}, flags(kernel)...)...)
	explore.Args[0], explore.Dir, explore.Env = "kpsim", dir, append(os.Environ(), g.path())
	var stderr bytes.Buffer
	explore.Stderr = &stderr
	out, err := explore.Output()
	if err != nil {
		return fmt.Errorf("kpsim explore: %w: %s", err, stderr.String())
	}
	want := &reportText{out: string(out)}
	if want.traces, err = traces(dir); err != nil {
		return err
	}
	c, err := g.makePlan(dir, kernel)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.plans[kernel], g.wants[kernel] = c, want
	return nil
}

func (g *Ground) plan(kernel bool) *plan.Campaign {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.plans[kernel]
}

// makePlan starts the campaign as a user does, on a server without workers, and takes its plan. Its units are as small
// as possible, so that there are some tens of them.
func (g *Ground) makePlan(dir string, kernel bool) (*plan.Campaign, error) {
	at := filepath.Join(dir, "server")
	s, err := start("server", dir, []string{g.path()}, g.Campaign, "serve", "--dir", at)
	if err != nil {
		return nil, err
	}
	defer s.end(9)
	if err := s.waitForOutput("serving at", 30*time.Second); err != nil {
		return nil, err
	}
	begin := exec.Command(g.Campaign, append([]string{"start", "--dir", at}, flags(kernel)...)...)
	begin.Dir = dir
	if out, err := begin.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != firstID {
		return nil, fmt.Errorf("kpsim-campaign start: %v: %s", err, out)
	}
	nc, err := (&hub.Where{Dir: at}).Connect(hub.Client)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := gate.Client{Conn: nc}
	state, err := client.State(ctx, firstID)
	if err != nil {
		return nil, err
	}
	c, err := client.Campaign(ctx, state)
	if err != nil {
		return nil, err
	}
	for i := range c.Searches[0].Bundle {
		c.Searches[0].Bundle[i] = 1
	}
	c.ID, c.Previous = "", ""
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seeds = at
	return c, nil
}

// keys gives servers of a cluster the same keys.
func (g *Ground) keys(servers []*server) error {
	secret := filepath.Join(g.seeds, hub.SecretFile)
	if err := os.WriteFile(secret, []byte(rand.Text()+rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	for _, name := range []string{hub.Lead + ".nk", hub.Client + ".nk", hub.Worker + ".nk", hub.SecretFile} {
		data, err := os.ReadFile(filepath.Join(g.seeds, name))
		if err != nil {
			return err
		}
		for _, s := range servers {
			if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func traces(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "traces", "*"))
	if err != nil {
		return nil, err
	}
	list := make(map[string]string)
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		list[filepath.Base(p)] = string(data)
	}
	return list, nil
}

// check checks what must hold in the end.
func (r *rig) check(ctx context.Context, results *process, dir string) error {
	want := r.g.wants[r.s.Main == WorkerDiskFull]
	status := results.cmd.ProcessState.ExitCode()
	t, err := r.readStatus(ctx)
	if err != nil {
		return err
	}
	if t.State != board.Ended || t.Done != t.Units {
		return fmt.Errorf("status: %s, %d of %d units", t.State, t.Done, t.Units)
	}
	if r.s.Main == Poison {
		return r.checkPoisoned(status, results, t)
	}
	got, err := traces(dir)
	switch {
	case err != nil:
		return err
	case status != want.status:
		return fmt.Errorf("results: exit status %d, not %d", status, want.status)
	case results.stdout() != want.out:
		return fmt.Errorf("the report differs; it is\n%s\nand not\n%s", results.stdout(), want.out)
	case len(got) != len(want.traces):
		return fmt.Errorf("%d witnesses, not %d", len(got), len(want.traces))
	case t.SetAside != 0:
		return fmt.Errorf("%d units set aside", t.SetAside)
	}
	for name, text := range want.traces {
		if got[name] != text {
			return fmt.Errorf("witness %s differs:\n%s\nand not\n%s", name, got[name], text)
		}
	}
	for _, e := range t.Searches[0].Scenarios {
		if e.Runs != e.RunsPlanned {
			return fmt.Errorf("status: %s: %d of %d runs", e.Scenario, e.Runs, e.RunsPlanned)
		}
	}
	return nil
}

// checkPoisoned checks that one unit was set aside, and that the rest is complete.
func (r *rig) checkPoisoned(status int, results *process, t *board.Status) error {
	key, _, _ := strings.Cut(r.poison(), "=")
	switch {
	case status != cli.Bug:
		return fmt.Errorf("results: exit status %d, not %d", status, cli.Bug)
	case t.SetAside != 1:
		return fmt.Errorf("%d units set aside, not one", t.SetAside)
	case !strings.Contains(results.stderr(), "1 unit set aside") || !strings.Contains(results.stderr(), key):
		return fmt.Errorf("results doesn't say what was set aside: %s", results.stderr())
	case len(t.Troubles) == 0:
		return errors.New("the status has no trouble")
	}
	told := false
	for _, s := range r.servers {
		for _, p := range r.all {
			told = told || p.name == "server "+s.name && strings.Contains(p.stdout(), "unit "+key+" is set aside")
		}
	}
	if !told {
		return errors.New("the server doesn't say that a unit is set aside")
	}
	missing := 0
	for _, e := range t.Searches[0].Scenarios {
		if e.Runs != e.RunsPlanned {
			missing++
		}
	}
	if missing != 1 {
		return fmt.Errorf("%d scenarios miss runs, not one", missing)
	}
	return nil
}

// readStatus reads the campaign's status as a user does.
func (r *rig) readStatus(ctx context.Context) (*board.Status, error) {
	cmd := exec.CommandContext(ctx, r.g.Campaign, "status", firstID, "--json", "--nats", r.urls(), "--nkey",
		filepath.Join(r.servers[0].dir, "client.nk"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kpsim-campaign status: %w: %s", err, stderr.String())
	}
	var t board.Status
	return &t, json.Unmarshal(out, &t)
}

// countDeliveries counts how often units were handed out.
func (r *rig) countDeliveries(ctx context.Context) (deliveries, units int, err error) {
	js, err := jetstream.New(r.b.Conn)
	if err != nil {
		return 0, 0, err
	}
	c, err := js.Consumer(ctx, "WORK", r.c.Build+"-"+r.c.Searches[0].Needs())
	if err != nil {
		return 0, 0, err
	}
	done, err := js.Stream(ctx, "DONE")
	if err != nil {
		return 0, 0, err
	}
	return int(c.CachedInfo().Delivered.Consumer), int(done.CachedInfo().State.Msgs), nil
}
