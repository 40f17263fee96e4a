package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// Results are the trials that were made, kept in a file: its first line names the tree and the searches.
type results struct {
	mu   sync.Mutex
	file *os.File
	done map[string]*trial // by ID and search
}

// A head is the first line.
type head struct {
	Tree string `json:"tree"` // identifies the sources that faults are drawn from
	Seed uint64 `json:"seed"`
	Draw int    `json:"draw"`
}

func open(name string, h head) (*results, error) {
	r := &results{done: make(map[string]*trial)}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1] // without an unfinished last line
	in := bufio.NewScanner(bytes.NewReader(whole))
	in.Buffer(nil, 1<<20)
	for i := 0; in.Scan(); i++ {
		if i == 0 {
			var old head
			if err := json.Unmarshal(in.Bytes(), &old); err != nil || old != h {
				return nil, fmt.Errorf("%s: it has results of other sources or another seed; name another file", name)
			}
			continue
		}
		t := new(trial)
		if err := json.Unmarshal(in.Bytes(), t); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, i+1, err)
		}
		r.done[t.key()] = t
	}
	if r.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if err := r.file.Truncate(int64(len(whole))); err != nil {
		return nil, err
	}
	if _, err := r.file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	if len(whole) == 0 {
		return r, r.write(h)
	}
	return r, nil
}

func (t *trial) key() string { return t.ID + "\x00" + t.Search }

func (r *results) get(id, search string) *trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[id+"\x00"+search]
}

func (r *results) add(t *trial) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[t.key()] = t
	return r.write(t)
}

func (r *results) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(text, '\n'))
	return err
}

// equivalents reads IDs and reasons. A line is an ID; the next one, indented, says why it changes nothing. (An ID
// contains colons.)
func equivalents(name string) (map[string]string, error) {
	list := make(map[string]string)
	if name == "" {
		return list, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	id := ""
	for i, l := range strings.Split(string(text), "\n") {
		switch {
		case strings.TrimSpace(l) == "" || strings.HasPrefix(l, "#"):
		case l[0] != ' ' && l[0] != '\t':
			if id != "" {
				return nil, fmt.Errorf("%s:%d: the fault above has no reason; indent one below it", name, i+1)
			}
			id = strings.TrimSpace(l)
		case id == "":
			return nil, fmt.Errorf("%s:%d: a reason without a fault; a line that isn't indented names one", name, i+1)
		default:
			list[id], id = strings.TrimSpace(l), ""
		}
	}
	if id != "" {
		return nil, fmt.Errorf("%s: the last fault has no reason; indent one below it", name)
	}
	return list, nil
}
