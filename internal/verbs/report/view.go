package report

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/viewer"
	"kpsim/traces"
	"kpsim/traces/view"
)

// View is kpsim view.
type View struct {
	Trace   string  `arg:"" help:"A trace that explore has written: traces/NAME.kps."`
	Beside  string  `arg:"" optional:"" help:"Another trace, to show beside it."`
	At      *uint32 `range:"0..4294967295" placeholder:"EVENT" help:"Open the page at this event, by the number that replay and explain print. Default: the violation."`
	Passing bool    `help:"Show beside it the nearest run that breaks nothing: the same without one of its deviations, or without its mutant."`
	kernels.TracesKernel
	kernels.Sources
	HTML cli.FileName `name:"html" placeholder:"FILE" xor:"where" help:"Write the page to a file, and serve nothing."`
	Port uint16       `range:"0..65535" placeholder:"N" xor:"where" help:"Serve the page at this port of 127.0.0.1. Default: one that is free."`
}

// Help implements kong.HelpProvider.
func (*View) Help() string {
	return `Show a trace as a page to go through step by step.

The page says what went wrong and how. It has a lane for each CPU, what waits for what, the patched bytes, the bytes that each CPU may still fetch, a kernel's lines of C, the state of the probes, and the deviations. n and p follow the story. The arrow keys step through the events; g and an event's number, as replay and explain print it, goes there; ? lists the other keys. The page is served on this computer until ^C, or written to one self-contained file, which can be mailed.

Examples:

  kpsim view traces/corpus/T2-second-instruction.kps
  kpsim view --passing --html race.html traces/corpus/T2-second-instruction.kps
  kpsim view --at 91 --html race.html traces/corpus/T2-second-instruction.kps
  kpsim view traces/before.kps traces/after.kps

Exit status: 0 shown, 1 shown, but the run isn't what the trace says, which the page says too, 2 bad input, 3 a bug of the simulator.`
}

func (c *View) Run(p *cli.Program) (int, error) {
	switch {
	case c.Passing && c.Beside != "":
		return 0, errors.New("--passing: there is another trace already; leave one of the two out")
	case c.HTML != "":
		if err := c.HTML.Check(); err != nil {
			return 0, fmt.Errorf("--html: %w", err)
		}
	}
	page, status, err := c.page(p)
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	if err := viewer.Write(&b, page); err != nil {
		return 0, err
	}
	text := traces.Plain(b.Bytes())
	for _, r := range page.Runs {
		if r.Banner != "" {
			fmt.Fprintf(p.Err, "%s: not as the trace says: %s\n", r.Name, r.Banner)
		}
	}
	if c.HTML == "" {
		return status, c.serve(p, fileName(page.Title), text)
	}
	if err := cli.WriteWhole(string(c.HTML), text); err != nil {
		return 0, fmt.Errorf("--html: %s", cli.Cause(err, string(c.HTML)))
	}
	fmt.Fprintf(p.Out, "%s: %d KB, %s; open it in a browser\n", c.HTML, (len(text)+1023)/1024,
		eventRange(page.Runs[0].Scene))
	return status, nil
}

// eventRange says which events are on a page, by number.
func eventRange(s *view.Scene) string {
	if len(s.Steps) == 0 {
		return "no events"
	}
	return fmt.Sprintf("events %d to %d", s.Steps[0].Event.Seq, s.Steps[len(s.Steps)-1].Event.Seq)
}

// noEvent says that a run has no event of a number; nil: it has, or one between two of its own, as the page has it.
func noEvent(s *view.Scene, event uint32) error {
	if n := len(s.Steps); n > 0 && s.Steps[0].Event.Seq <= event && event <= s.Steps[n-1].Event.Seq {
		return nil
	}
	return fmt.Errorf("there is no event %d; the page has %s", event, eventRange(s))
}

// page lays out the runs.
func (c *View) page(p *cli.Program) (*viewer.Page, int, error) {
	words := []string{"kpsim", "view"}
	if c.Passing {
		words = append(words, "--passing")
	}
	at := ""
	if c.At != nil {
		at = fmt.Sprint(*c.At)
		words = append(words, "--at", at)
	}
	name, other := distinctNames(c.Trace, c.Beside)
	page := &viewer.Page{Title: name, Command: cli.Line(append(words, name)...), At: at}
	file, run, err := c.playAndLayOut(p, c.Trace)
	if err != nil {
		return nil, 0, err
	}
	run.Name = name
	page.Runs = append(page.Runs, *run)
	if c.At != nil {
		if err := noEvent(run.Scene, *c.At); err != nil {
			return nil, 0, fmt.Errorf("--at: %s: %w", c.Trace, err)
		}
	}
	switch {
	case c.Passing:
		n, err := replay.Nearest(c.Trace, file)
		if err != nil {
			return nil, 0, err
		}
		if n == nil {
			return nil, 0, fmt.Errorf("--passing: %s: no run near it breaks nothing; leave --passing out", c.Trace)
		}
		defer n.Rig.Close()
		page.Title = fmt.Sprintf("%s, and %s", name, n.Says())
		page.Runs = append(page.Runs, *c.layOut(n.Says(), nearest(n, file), file, n.Replay))
	case c.Beside != "":
		page.Title += " and " + other
		page.Command = cli.Line(append(words, name, other)...)
		_, run, err := c.playAndLayOut(p, c.Beside)
		if err != nil {
			return nil, 0, err
		}
		run.Name = other
		page.Runs = append(page.Runs, *run)
	}
	status := cli.OK
	for _, r := range page.Runs {
		if r.Banner != "" {
			status = cli.Against
		}
	}
	return page, status, nil
}

// distinctNames returns the names of two files without their folders, except for as many folders as
// tell them apart: pages are mailed, and shouldn't reveal the author's folders.
func distinctNames(a, b string) (nameA, nameB string) {
	if b == "" {
		return filepath.Base(a), ""
	}
	x, y := strings.Split(filepath.ToSlash(filepath.Clean(a)), "/"), strings.Split(filepath.ToSlash(filepath.Clean(b)),
		"/")
	tail := func(list []string, n int) []string { return list[len(list)-min(n, len(list)):] }
	n := 1
	for n < max(len(x), len(y)) && slices.Equal(tail(x, n), tail(y, n)) {
		n++
	}
	if slices.Equal(x, y) {
		n = 1
	}
	return strings.Join(tail(x, n), "/"), strings.Join(tail(y, n), "/")
}

// nearest describes the nearest run that breaks nothing.
func nearest(n *replay.Neighbour, file *traces.File) string {
	says := "The nearest run that breaks nothing"
	for k, i := range n.Without {
		says += fmt.Sprintf("%s deviation %d (%s)", map[bool]string{true: ": without", false: ","}[k == 0], i+1,
			view.Choice(file.Schedule[i]))
	}
	if n.Mutant != "" {
		says += ": without the mutant " + n.Mutant
	}
	return says + "."
}

// playAndLayOut plays a trace and lays out its run.
func (c *View) playAndLayOut(p *cli.Program, name string) (*traces.File, *viewer.Run, error) {
	file, err := c.TracesKernel.Read(name)
	if err != nil {
		return nil, nil, err
	}
	p.Doing = "trace " + name
	r, err := replay.Play(name, file, true)
	if err != nil {
		return nil, nil, err
	}
	defer r.Rig.Close()
	kernels.TellEdited(p, name, file)
	sc := r.Rig.Scenario
	about := "Scenario " + sc.Name
	if m := file.Remark(traces.OriginMutant); m != "" {
		about += ", mutant " + m
	}
	if s := file.Remark(traces.OriginIgnored); s != "" {
		about += ", which goes on after " + s
	}
	if s := file.Remark(traces.OriginKnown); s != "" {
		about += ", which goes on after what is known: " + s
	}
	if o := inputs.WeakMemory(sc.Machine.Memory); o != "" {
		about += ", memory model " + o
	}
	if says := view.NotX86(sc.Machine.Memory.String()); says != "" {
		about += ". " + strings.TrimSuffix(says, ".")
	}
	run := c.layOut(name, strings.TrimSuffix(about+". "+sc.Says, " "), file, r)
	if !r.Same {
		run.Banner = r.Why
	}
	return file, run, nil
}

// layOut lays out a run whose events were kept.
func (c *View) layOut(name, about string, file *traces.File, r *replay.Replay) *viewer.Run {
	in := r.View(file)
	in.Schedule = slices.Clone(r.Taken)
	c.Follow(r, &in)
	r.Decide(&in)
	var tasks []string // read before the rig is closed
	for _, t := range r.Rig.Machine.Tasks().All() {
		tasks = append(tasks, t.Name)
	}
	return &viewer.Run{
		Name: name, About: about, Scene: view.Lay(in, r.Timeline(view.Sites(in))),
		Task: func(id uint64) string { return tasks[id] },
	}
}

// serve serves the page until ^C.
func (c *View) serve(p *cli.Program, name string, page []byte) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		return fmt.Errorf("--port: %d can't be listened at: %s; leave --port out for one that is free", c.Port,
			withoutAddress(err))
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: localOnly(name, page)}
	p.LeaveInterrupt() // ^C is the normal end
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Fprintf(p.Out, "http://%s/  (until ^C)\n", l.Addr())
	select {
	case err := <-ended:
		return err
	case <-signals:
		return server.Close()
	}
}

// localOnly returns the page only if the request's host is one of this computer's own names. Another
// name may have been pointed here by a foreign page (DNS rebinding), which could then read the
// data.
func localOnly(name string, page []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		switch {
		case host != "127.0.0.1" && host != "localhost":
			http.Error(w, "this is served as 127.0.0.1 and localhost only", http.StatusForbidden)
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this is a page, to be read", http.StatusMethodNotAllowed)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": name}))
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Write(page)
		}
	})
}

// fileName returns the file name under which a browser saves a page with this title.
func fileName(title string) string {
	title, _, _ = strings.Cut(title, ", and ")
	return strings.ReplaceAll(strings.ReplaceAll(title, ".kps", ""), "/", "-") + ".html"
}

// withoutAddress returns what is wrong with an address, without the address.
func withoutAddress(err error) string {
	var e *os.SyscallError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}
