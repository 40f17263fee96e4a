package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"kpsim/internal/search/parallel"
)

// A Matrix is a set of rows that were searched.
type Matrix struct {
	Rows   []Row
	Effort Effort
	Cells  []*Cell // by row, then by column; of an interrupted matrix, the finished ones
	All    int     // number of cells of the complete matrix
}

// A Job configures a search.
type Job struct {
	Rows      []Row
	Columns   []Column // nil: all
	Effort    Effort
	Workers   int          // cells searched at once; 0: one per processor
	Cancelled *atomic.Bool // ends the search early when it is set
	// called by several goroutines, if not nil, after each cell of a step, with how many cells of
	// Searched are done; a step of a cell counts as its share
	Done func(cells float64, doing string)
	// called, if not nil, for each property of a searched Sometimes, in order, when all are found
	Save func(*Cell, *Broken) error
	// cells that aren't searched again if their Search is the same: see ReadCells
	Known []*Cell
}

// Run searches the cells, and the canaries that they need. Errors are about the input or describe
// what wasn't decided. A bug of the simulator panics with a *parallel.Crash, in the calling
// goroutine.
func Run(j Job) (*Matrix, error) {
	if j.Cancelled == nil {
		j.Cancelled = new(atomic.Bool)
	}
	if j.Columns == nil {
		j.Columns = Columns()
	}
	rows, wanted := withCanaries(j.Rows), len(j.Rows)*len(j.Columns)
	all, err := j.cells(rows)
	if err != nil {
		return nil, err
	}
	m := &Matrix{Rows: j.Rows, Effort: j.Effort, All: wanted}
	byName := make(map[string]*Cell)
	for _, c := range all {
		if c != nil {
			byName[c.key()] = c
		}
	}
	for _, r := range j.Rows {
		for _, col := range j.Columns {
			c := byName[r.Name+" "+col.Preempt+" "+col.Fetch]
			if c == nil {
				continue
			}
			if c.Verdict == Never {
				c.Canary = r.program.canary
				known := byName[r.program.canary+" "+col.Preempt+" "+col.Fetch]
				c.Blind = known == nil || known.Verdict != Sometimes
			} else if j.Save != nil {
				for _, b := range c.Broken {
					if b.Witness == nil { // a known one
						continue
					}
					if err := j.Save(c, b); err != nil {
						return nil, err
					}
				}
			}
			m.Cells = append(m.Cells, c)
		}
	}
	return m, nil
}

func (c *Cell) key() string { return c.Row + " " + c.Preempt + " " + c.Fetch }

// withCanaries adds the missing canary rows.
func withCanaries(rows []Row) []Row {
	list := append([]Row(nil), rows...)
	for _, r := range rows {
		there := false
		for _, o := range list {
			there = there || o.Name == r.program.canary
		}
		if known, ok := RowByName(r.program.canary); ok && !there {
			list = append(list, known)
		}
	}
	return list
}

// Searched returns the number of cells that a job searches: those of its rows and of the canaries
// that these need.
func Searched(rows []Row, columns []Column) int {
	if columns == nil {
		columns = Columns()
	}
	return len(withCanaries(rows)) * len(columns)
}

// A board holds the cells of a running job.
type board struct {
	j     *Job
	cells []*searcher // by row, then by column

	steps, step int    // number of steps, and of finished ones
	doing       string // the current activity
	most        float64
	mu          sync.Mutex // guards most
}

// far reports that n of the given number of parts of a step are done. Steps visit cells
// repeatedly and skip some; progress never decreases.
func (b *board) far(n, of int) {
	if b.j.Done == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = max(b.most, float64(len(b.cells))*(float64(b.step)+float64(n)/float64(of))/float64(b.steps))
	b.j.Done(b.most, b.doing)
}

// cells searches all cells of the rows; unfinished ones are nil.
//
// First, each cell is searched on its own with a few schedules. Then violations of one cell are
// tried on its neighbours until nothing new is found. The remaining Nevers are proven, or
// searched with the full effort, and deeper where another cell of the row is Sometimes. New finds
// start another round.
func (j *Job) cells(rows []Row) ([]*Cell, error) {
	b := &board{j: j}
	known := j.known()
	for i := range rows {
		for _, col := range j.Columns {
			s, err := newSearcher(&rows[i], col, j.Effort, j.Cancelled)
			if err != nil {
				return nil, fmt.Errorf("cell %s: %w", key(rows[i].Name, col), err)
			}
			if k := known[s.cell.Search]; k != nil {
				cell := *k
				s.cell, s.known = &cell, true
				s.cell.restore()
				s.fresh = append(s.fresh, s.cell.Broken...)
			}
			b.cells = append(b.cells, s)
		}
	}
	steps := b.plan()
	b.steps = len(steps)
	for i, step := range steps {
		b.step, b.doing = i, step.says
		if err := step.do(); err != nil {
			return nil, err
		}
		if j.Cancelled.Load() {
			break
		}
		b.far(1, 1)
	}
	list := make([]*Cell, len(b.cells))
	for i, s := range b.cells {
		if s.decided() {
			list[i] = s.cell
		}
	}
	return list, nil
}

// A step finishes for all cells before the next begins.
type step struct {
	says string
	do   func() error
}

// plan lists the steps.
func (b *board) plan() []step {
	return []step{
		{"some schedules of each", func() error {
			return b.each((*searcher).own, func(s *searcher) bool { return !s.known })
		}},
		{"what breaks their neighbours", b.round},
		{"all schedules", b.prove},
		{"schedules of few deviations", func() error {
			return b.each((*searcher).rest, func(s *searcher) bool {
				return !s.known && s.cell.Verdict == Never && !s.cell.Complete
			})
		}},
		{"what breaks their neighbours", b.round},
		{"deeper", b.deepen},
		{"more schedules", b.again},
		{"the other offsets", func() error {
			return b.each((*searcher).spread, func(s *searcher) bool { return !s.known })
		}},
	}
}

// decided reports whether a cell's search is complete.
func (s *searcher) decided() bool {
	return s.cell.Verdict == Sometimes || s.cell.Complete || s.cell.Deviations > 0
}

// each calls f for the cells selected by wants, in several goroutines.
func (b *board) each(f func(*searcher) error, wants func(*searcher) bool) error {
	var list []*searcher
	for _, s := range b.cells {
		if wants(s) {
			list = append(list, s)
		}
	}
	return b.inParallel(len(list), func(i int) error {
		return f(list[i])
	}, func(i int) string { return list[i].cell.key() })
}

// round tries violations on neighbouring cells, and new ones on their neighbours in turn.
func (b *board) round() error {
	for {
		fresh := make(map[*searcher][]*Broken) // of this round; new results wait for the next
		n := 0
		for _, s := range b.cells {
			fresh[s] = s.fresh
			n += len(s.fresh)
			s.fresh = nil
		}
		if n == 0 || b.j.Cancelled.Load() {
			return nil
		}
		err := b.each(func(s *searcher) error {
			var list []*Broken
			for _, o := range b.cells {
				if neighbours(s, o) && !(s.known && o.known) { // otherwise they were tried before
					list = append(list, fresh[o]...)
				}
			}
			return s.learn(list)
		}, func(s *searcher) bool { return true })
		if err != nil {
			return err
		}
	}
}

// prove runs every schedule where that is feasible.
func (b *board) prove() error {
	var list [][]*searcher // by row and preemption model
	for i, s := range b.cells {
		if i == 0 || b.cells[i-1].row.Name != s.row.Name || b.cells[i-1].column.Preempt != s.column.Preempt {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], s)
	}
	return b.inParallel(len(list), func(i int) error {
		return prove(byFetch(list[i]))
	}, func(i int) string { return list[i][0].cell.key() })
}

// byFetch orders the cells of a row and preemption model by fetch model, as in Fetches.
func byFetch(of []*searcher) []*searcher {
	list := make([]*searcher, len(Fetches))
	for _, s := range of {
		list[slices.Index(Fetches, s.column.Fetch)] = s
	}
	return list
}

// deepen searches unproven Nevers deeper if their row has a Sometimes, at its offset, until
// nothing new is found.
func (b *board) deepen() error {
	for {
		where := make(map[*searcher]int)
		for _, s := range b.cells {
			if offset, ok := b.sibling(s); ok {
				where[s] = offset
			}
		}
		if len(where) == 0 || b.j.Cancelled.Load() {
			return nil
		}
		err := b.each(func(s *searcher) error {
			return s.deeper(where[s])
		}, func(s *searcher) bool { _, ok := where[s]; return ok })
		if err != nil {
			return err
		}
		if err := b.round(); err != nil {
			return err
		}
	}
}

// sibling returns the offset of the witness nearest to an unproven Never: of the same preemption
// model, of the same fetch model, or of any other cell of the row. ok is false if there is none,
// or only where the deeper search was made already.
func (b *board) sibling(s *searcher) (offset int, ok bool) {
	if s.effort.Deeper <= s.cell.Deviations || s.cell.Verdict != Never || s.cell.Complete || s.cell.Deeper != nil ||
		len(s.deep) > 0 {
		return 0, false
	}
	best := 0
	for _, o := range b.cells {
		if o.row.Name != s.row.Name || o.cell.Verdict != Sometimes || s.known && o.known {
			continue
		}
		near := 1
		switch {
		case o.column.Preempt == s.column.Preempt:
			near = 3
		case o.column.Fetch == s.column.Fetch:
			near = 2
		}
		if near > best {
			best, offset = near, o.cell.Broken[0].Offset
		}
	}
	return offset, best > 0
}

// again searches Nevers that are impossible given the other cells of their rows: their search was
// too short.
func (b *board) again() error {
	tried := make(map[*searcher]bool)
	for {
		t := make(Table)
		for _, s := range b.cells {
			t[s.cell.key()] = s.cell.Short()
		}
		var list []*searcher
		for _, s := range b.cells {
			if s.cell.Verdict == Never && !s.cell.Complete && !tried[s] && t.tooFew(s.row.Name, s.column) {
				tried[s] = true
				list = append(list, s)
			}
		}
		if len(list) == 0 || b.j.Cancelled.Load() {
			return nil
		}
		err := b.each((*searcher).drawMore, func(s *searcher) bool { return slices.Contains(list, s) })
		if err != nil {
			return err
		}
		if err := b.round(); err != nil {
			return err
		}
	}
}

// inParallel calls f for 0 to n-1, in several goroutines; where describes an index for errors.
func (b *board) inParallel(n int, f func(i int) error, where func(i int) string) error {
	j := b.j
	workers := j.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		next, done atomic.Int64
		wg         sync.WaitGroup
		crash      atomic.Pointer[parallel.Crash]
		errs       = make([]error, n)
	)
	for range min(workers, n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if v := recover(); v != nil {
					c, ok := v.(*parallel.Crash)
					if !ok {
						c = &parallel.Crash{Value: v, Stack: debug.Stack()}
					}
					crash.CompareAndSwap(nil, c)
					next.Store(int64(n))
				}
			}()
			for i := int(next.Add(1) - 1); i < n && !j.Cancelled.Load(); i = int(next.Add(1) - 1) {
				if err := f(i); err != nil && !errors.Is(err, errCancelled) {
					errs[i] = fmt.Errorf("cell %s: %w", where(i), err)
				}
				b.far(int(done.Add(1)), n)
			}
		}()
	}
	wg.Wait()
	if c := crash.Load(); c != nil {
		panic(c)
	}
	return errors.Join(errs...)
}

// known returns the known cells, by their Search.
func (j *Job) known() map[string]*Cell {
	known := make(map[string]*Cell)
	for _, c := range j.Known {
		known[c.Search] = c
	}
	return known
}

// ReadCells reads printed cells, each a JSON object. Errors name the line.
func ReadCells(b []byte) (list []*Cell, err error) {
	for i, line := range bytes.Split(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var c struct {
			*Cell
			Kpsim json.RawMessage `json:"kpsim"` // the first cell identifies the kpsim that printed it
		}
		c.Cell = new(Cell)
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if c.Search == "" || c.Verdict == Sometimes && len(c.Broken) == 0 || c.Verdict != Never &&
			c.Verdict != Sometimes {
			return nil, fmt.Errorf("line %d is no cell that kpsim matrix --json has printed", i+1)
		}
		list = append(list, c.Cell)
	}
	return list, nil
}
