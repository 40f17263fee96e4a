package inputs

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/traces"
)

// The lines of a trace's origin that identify the scenario's program before shrinking: the name
// of its file, which a built-in one lacks, and a checksum.
const (
	OriginFile   = "scenario file"
	OriginSource = "scenario checksum"

	OriginObjects = "objects" // base names of the objects laid over its kernel
)

// A checksum is computed over a scenario's program and the object files that it opens, in order.
type checksum []byte

// see adds a file. Line endings don't matter.
func (c *checksum) see(data []byte) {
	h := fnv.New128a()
	h.Write(*c)
	h.Write(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	*c = h.Sum(nil)
}

func (c *checksum) opening(open func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		data, err := open(name)
		if err == nil {
			c.see(data)
		}
		return data, err
	}
}

func (c checksum) String() string { return fmt.Sprintf("%x", []byte(c)) }

// FoundIn records in a trace which program it was found in.
func (j *Input) FoundIn(file *traces.File) {
	if j.Source == "" {
		return
	}
	if !slices.Contains(library.Names(), j.Arg) {
		file.Origin = append(file.Origin, traces.Remark{Key: OriginFile, Value: filepath.Base(j.Arg)})
	}
	file.Origin = append(file.Origin, traces.Remark{Key: OriginSource, Value: j.Source})
	if len(j.Objects) > 0 {
		file.Origin = append(file.Origin, traces.Remark{Key: OriginObjects, Value: strings.Join(j.Objects, ", ")})
	}
}

// Edited returns the name of a trace's scenario if that is built in and has changed since; "" if
// it is the same or unknown. For a scenario from a file, explore reports it: a trace opens no
// other file.
func Edited(path string, file *traces.File) string {
	source := file.Remark(OriginSource)
	if source == "" || file.Remark(OriginFile) != "" {
		return ""
	}
	s, err := lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine)
	if err != nil || !slices.Contains(library.Names(), s.Name) {
		return ""
	}
	if now, err := loadSource(ByHand, s.Name); err != nil || now.Source == source {
		return ""
	}
	return s.Name
}
