package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"kpsim/properties/harness"
)

// A Matrix is rows that were searched.
type Matrix struct {
	Rows   []Row
	Effort Effort
	Cells  []*Cell // by row, then by column; of an interrupted one those that there are
	All    int     // how many cells there would be
}

// A Job says what to search.
type Job struct {
	Rows      []Row
	Columns   []Column // nil: all
	Effort    Effort
	Workers   int               // cells at once; 0: one a processor
	Cancelled *atomic.Bool      // ends it early when it is set
	Done      func(n, of int)   // if not nil, is called after each cell, by several goroutines
	Save      func(*Cell) error // if not nil, is called for each Sometimes that was searched, in their order, when all are found
	Known     []*Cell           // cells that needn't be searched, if their Search is the same: ReadCells
}

// Run searches the cells, and those of the canaries that they need. Errors are about
// the input or say what wasn't decided; a bug of the simulator panics with a
// *harness.Crash, in the goroutine that called.
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
			} else if j.Save != nil && c.Witness != nil { // else it was known
				if err := j.Save(c); err != nil {
					return nil, err
				}
			}
			m.Cells = append(m.Cells, c)
		}
	}
	return m, nil
}

func (c *Cell) key() string { return c.Row + " " + c.Preempt + " " + c.Fetch }

// withCanaries adds the rows that are known to be wrong, if they aren't there.
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

// cells searches all cells of the rows; those that it wasn't given the time for are nil.
func (j *Job) cells(rows []Row) ([]*Cell, error) {
	known := j.known()
	cells := make([]*Cell, len(rows)*len(j.Columns))
	err := j.each(len(cells), func(i int) (err error) {
		cells[i], err = j.cell(&rows[i/len(j.Columns)], j.Columns[i%len(j.Columns)], known)
		return err
	}, func(i int) string { return c0(rows, j.Columns, i) })
	if err != nil {
		return nil, err
	}
	return cells, j.again(rows, cells)
}

// deeper is how many times as many schedules are drawn for a Never that can't be.
const deeper = 20

// again searches the cells that are Never and can't be, by what the others of their
// rows are: nothing was wrong with them but that the search was too short.
func (j *Job) again(rows []Row, cells []*Cell) error {
	tried := make(map[int]bool)
	for {
		t := make(Table)
		for _, c := range cells {
			if c != nil {
				t[key(c.Row, Column{c.Preempt, c.Fetch})] = c.Short()
			}
		}
		var list []int
		for i, c := range cells {
			if r, col := &rows[i/len(j.Columns)], j.Columns[i%len(j.Columns)]; c != nil && c.Verdict == Never && !c.Complete && !tried[i] && t.tooFew(r.Name, col) {
				tried[i] = true
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			return nil
		}
		err := j.each(len(list), func(n int) error {
			i := list[n]
			c, err := searchDeeper(&rows[i/len(j.Columns)], j.Columns[i%len(j.Columns)], j.Effort, j.Cancelled)
			if c != nil && c.Verdict == Sometimes {
				cells[i] = c
			}
			return err
		}, func(n int) string { return c0(rows, j.Columns, list[n]) })
		if err != nil || j.Cancelled.Load() {
			return err
		}
	}
}

// each calls f for 0 to n-1, by several goroutines; where names what is in an error.
func (j *Job) each(n int, f func(i int) error, where func(i int) string) error {
	workers := j.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		next, done atomic.Int64
		wg         sync.WaitGroup
		crash      atomic.Pointer[harness.Crash]
		errs       = make([]error, n)
	)
	for range min(workers, n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if v := recover(); v != nil {
					c, ok := v.(*harness.Crash)
					if !ok {
						c = &harness.Crash{Value: v, Stack: debug.Stack()}
					}
					crash.CompareAndSwap(nil, c)
					next.Store(int64(n))
				}
			}()
			for i := int(next.Add(1) - 1); i < n && !j.Cancelled.Load(); i = int(next.Add(1) - 1) {
				if err := f(i); err != nil && !errors.Is(err, errCancelled) {
					errs[i] = fmt.Errorf("cell %s: %w", where(i), err)
				}
				if d := done.Add(1); j.Done != nil {
					j.Done(int(d), n)
				}
			}
		}()
	}
	wg.Wait()
	if c := crash.Load(); c != nil {
		panic(c)
	}
	return errors.Join(errs...)
}

// known returns the cells that are known, by their Search.
func (j *Job) known() map[string]*Cell {
	known := make(map[string]*Cell)
	for _, c := range j.Known {
		known[c.Search] = c
	}
	return known
}

func (j *Job) cell(r *Row, c Column, known map[string]*Cell) (*Cell, error) {
	if k := known[r.key(c, j.Effort)]; k != nil {
		cell := *k
		return &cell, nil
	}
	found, err := search(r, c, j.Effort, j.Cancelled)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// ReadCells reads cells, each a JSON object, as they are printed. Errors name the line.
func ReadCells(b []byte) (list []*Cell, err error) {
	for i, line := range bytes.Split(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		c := new(Cell)
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(c); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if c.Search == "" || c.Verdict != Never && c.Verdict != Sometimes {
			return nil, fmt.Errorf("line %d is no cell that kpsim matrix --json has printed", i+1)
		}
		list = append(list, c)
	}
	return list, nil
}

func c0(rows []Row, columns []Column, i int) string {
	c := columns[i%len(columns)]
	return rows[i/len(columns)].Name + " " + c.Preempt + " " + c.Fetch
}
