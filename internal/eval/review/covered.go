package review

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kpsim/internal/search/change"
)

// coveredBy determines which lines of a patch the changed program executed, if it was built with
// -cover. Go itself reads the counters.
func (r *found) coveredBy(c *Review, dir string) error {
	if c.Patch == "" {
		return nil
	}
	if err := r.addedLines(); err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		r.uncovered = "The changed program wasn't built with -cover, so it isn't known which lines it came to: " +
			"`go build -cover -covermode=atomic -coverpkg=./... -o kpsim-changed ./cmd/kpsim`, and `--program " +
			"kpsim-changed`."
		return nil
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", dir, "-o",
		profile).CombinedOutput(); err != nil {
		r.uncovered = fmt.Sprintf("What the changed program counted of its lines couldn't be read: `go tool "+
			"covdata` says %q.", strings.TrimSpace(string(bytes.SplitN(out, []byte("\n"), 2)[0])))
		return nil
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	r.counted(text)
	return nil
}

// counted reads a profile: for each block its file, first and last line, and number of
// executions. A line belongs to the smallest block that contains it.
func (r *found) counted(profile []byte) {
	best := make([]int, len(r.lines)) // lines in the block
	s := bufio.NewScanner(bytes.NewReader(profile))
	for s.Scan() {
		var from, to, column, statements int
		var count uint64
		at := strings.LastIndexByte(s.Text(), ':')
		if at < 0 {
			continue
		}
		if _, err := fmt.Sscanf(s.Text()[at+1:], "%d.%d,%d.%d %d %d", &from, &column, &to, &column, &statements,
			&count); err != nil {
			continue // the first line has the mode
		}
		file := s.Text()[:at]
		for i := range r.lines {
			l := &r.lines[i]
			if l.number < from || l.number > to || !strings.HasSuffix(file, "/"+l.file) || best[i] > 0 &&
				best[i] <= to-from+1 {
				continue
			}
			best[i] = to - from + 1
			if l.place < 0 {
				l.place = len(r.code.Places)
				r.code.Places = append(r.code.Places, change.Place{Line: fmt.Sprintf("%s:%d", l.file, l.number)})
				r.reached = append(r.reached, 0)
			}
			r.reached[l.place] = count
		}
	}
	r.sortLines()
}
