package change

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"kpsim/internal/kept"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
	"kpsim/linux/closure"
)

// A Baseline holds what the unchanged kernel has shown, so that another review doesn't run that again. Runs depend on
// nothing but what their record's name says, so a review says the same with and without it. Goroutines may share
// it; a nil Baseline keeps nothing.
type Baseline struct {
	kernel *linux.Kernel
	build  string // digest of the program
	kind   kept.Kind
	key    kept.Key

	once  sync.Once
	looks func() explore.Look

	mu      sync.Mutex
	records map[string]json.RawMessage
	used    map[string]bool
	fresh   bool // something isn't kept yet
	Found   int  // number of records that were used
	Made    int
}

const (
	baselineMost = 8         // kernels or programs
	baselineSize = 128 << 20 // bytes, packed
	baselineFull = 64 << 20  // above that, what wasn't used this time is dropped
	unpackedMost = 1 << 30   // bytes; a foreign file may claim to have more
)

// OpenBaseline reads what is kept of an unchanged kernel. build is a digest of the program, since another one may run
// otherwise; "" keeps nothing beyond this Baseline.
func OpenBaseline(k *linux.Kernel, build string) *Baseline {
	b := &Baseline{kernel: k, build: build, kind: kept.Kind{Name: "baseline", Most: baselineMost, Size: baselineSize},
		records: make(map[string]json.RawMessage), used: make(map[string]bool)}
	b.key = kept.KeyOf([]byte("baseline"), []byte(k.ID()), []byte(build))
	packed := b.kind.Get(b.key)
	if build == "" || packed == nil {
		return b
	}
	r, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return b
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, unpackedMost))
	if err != nil || json.Unmarshal(text, &b.records) != nil {
		b.records = make(map[string]json.RawMessage)
	}
	return b
}

// Save keeps what is new. If that fails, the next review makes it again.
func (b *Baseline) Save() {
	if b == nil || !b.fresh || b.build == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	packed := b.packed()
	if len(packed) > baselineFull {
		for name := range b.records {
			if !b.used[name] {
				delete(b.records, name)
			}
		}
		packed = b.packed()
	}
	b.kind.Keep(b.key, packed)
	b.fresh = false
}

func (b *Baseline) packed() []byte {
	text, err := json.Marshal(b.records)
	if err != nil {
		return nil
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil
	}
	defer w.Close()
	return w.EncodeAll(text, nil)
}

// has reads a record.
func (b *Baseline) has(name string, into any) bool {
	b.mu.Lock()
	record, ok := b.records[name]
	b.mu.Unlock()
	if !ok || json.Unmarshal(record, into) != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[name] = true
	b.Found++
	return true
}

// keeps records something.
func (b *Baseline) keeps(name string, v any) {
	record, err := json.Marshal(v)
	if err != nil {
		return // the next review makes it again
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records[name], b.used[name], b.fresh = record, true, true
	b.Made++
}

// name returns the name of a record.
func name(what string, sc *scenario.Scenario, more ...any) string {
	k := kept.KeyOf([]byte(what), []byte(sc.Name), []byte(lang.Print(sc)), fmt.Append(nil, more...))
	return fmt.Sprintf("%x", k[:16])
}

// An explored is the record of an exploration.
type explored struct {
	Parts   []explore.Part    `json:"parts"`
	Broken  []brokenKind      `json:"broken"`
	Ends    map[string]uint64 `json:"ends"`
	Entered []string          `json:"entered"` // functions of the engine that ran, sorted
}

type brokenKind struct {
	Property string `json:"property"`
	Words    string `json:"words"`
	Runs     uint64 `json:"runs"`
}

// explore explores a scenario on the unchanged kernel, unless that is recorded. The result has one Look, which has
// what all shards' have together.
func (b *Baseline) explore(spec explore.Spec) (*explore.Result, error) {
	known := make([]string, 0, len(spec.Known))
	for i := range spec.Known {
		known = append(known, fmt.Sprintf("%+v", spec.Known[i]))
	}
	name := name("explored", spec.Scenario, spec.Runs, spec.Seed, known)
	var was explored
	if b.has(name, &was) {
		if res, err := explore.Merge(spec, was.Parts); err == nil {
			res.Looks = []explore.Look{was.look()}
			return res, nil
		}
	}
	b.once.Do(func() { b.looks = entries(b.kernel) })
	spec.Look = newCounter(b.looks)
	res, err := explore.Run(spec)
	if err != nil {
		return nil, err
	}
	was = explored{Parts: res.Parts}
	for k, n := range kinds(res) {
		was.Broken = append(was.Broken, brokenKind{k.property, k.words, n})
	}
	slices.SortFunc(was.Broken, func(a, b brokenKind) int {
		return kind{a.Property, a.Words}.compare(kind{b.Property, b.Words})
	})
	_, was.Ends = joined(res.Looks, nil)
	for _, l := range res.Looks {
		was.Entered = append(was.Entered, l.(*counter).inner.(*look).entered...)
	}
	slices.Sort(was.Entered)
	was.Entered = slices.Compact(was.Entered)
	if spec.Cancelled == nil || !spec.Cancelled.Load() {
		b.keeps(name, &was)
		b.keeps(enteredBy(spec.Scenario), was.Entered)
	}
	res.Looks = []explore.Look{was.look()}
	return res, nil
}

// enteredBy returns the name of the record of the functions that a scenario's last exploration came to.
func enteredBy(sc *scenario.Scenario) string { return name("entered", sc) }

// ComesTo reports whether the unchanged kernel's runs of a scenario came to a function that differs, as far as that is
// kept: a scenario that was never run does.
func (b *Baseline) ComesTo(sc *scenario.Scenario, code *Code) bool {
	one := *sc
	var entered []string
	if onlinux.Set(&one, b.kernel) != nil || !b.has(enteredBy(&one), &entered) {
		return true
	}
	return comes(entered, code.differ())
}

// comes reports whether one of the functions that ran differs.
func comes(entered, differ []string) bool {
	return slices.ContainsFunc(entered, func(name string) bool { return slices.Contains(differ, closure.Base(name)) })
}

// look returns what a record's looks have seen.
func (e *explored) look() explore.Look {
	c := &counter{broken: make(map[kind]uint64), inner: &look{ends: e.Ends, entered: e.Entered}}
	for _, k := range e.Broken {
		c.broken[kind{k.Property, k.Words}] = k.Runs
	}
	return c
}

// An answeredBase is the record of a serial program: what it answers by the rules and on the unchanged kernel.
type answeredBase struct {
	Left  bool // this kernel can't run it
	Rules *twoengines.Answers
	Base  *twoengines.Answers
}

func (*Baseline) programName(ours, kernels *scenario.Scenario) string {
	return name("answered", kernels, lang.Print(ours))
}
