package watch

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet = 100 * time.Millisecond // after the last event, before files are read
	every = 2 * time.Second        // files are read at least so often
	often = 250 * time.Millisecond // so often if there are no events
)

// An ear says when files may have changed. Its channel has room for one call.
type ear struct {
	Changed chan struct{}

	events *fsnotify.Watcher // nil: the system has none
	end    chan struct{}
}

// listen watches the folders of files. The folders are watched, not the files: editors replace these.
func listen(files []string) *ear {
	e := &ear{Changed: make(chan struct{}, 1), end: make(chan struct{})}
	if w, err := fsnotify.NewWatcher(); err == nil {
		e.events = w
		e.add(files)
	}
	go e.run(files)
	return e
}

// add watches the folders that are there. A folder that is replaced, as git does, is watched anew.
func (e *ear) add(files []string) {
	var folders []string
	for _, f := range files {
		if dir := filepath.Dir(f); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	for _, dir := range folders {
		if s, err := os.Stat(dir); err == nil && s.IsDir() {
			_ = e.events.Add(dir) // files are read in any case
		}
	}
}

// Close ends the watching.
func (e *ear) Close() { close(e.end) }

// run calls Changed after events, and from time to time.
func (e *ear) run(files []string) {
	period := every
	var events chan fsnotify.Event
	var errs chan error
	if e.events != nil {
		defer e.events.Close()
		events, errs = e.events.Events, e.events.Errors
	} else {
		period = often
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	still := time.NewTimer(time.Hour)
	defer still.Stop()
	for {
		select {
		case <-e.end:
			return
		case _, ok := <-events:
			if !ok {
				return
			}
			still.Reset(quiet)
		case <-errs: // such as a queue that ran over
			still.Reset(quiet)
		case <-still.C:
			e.call()
		case <-tick.C:
			if e.events != nil {
				e.add(files)
			}
			e.call()
		}
	}
}

func (e *ear) call() {
	select {
	case e.Changed <- struct{}{}:
	default: // it was called already
	}
}
