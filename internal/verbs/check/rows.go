package check

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
)

// RowHelp documents the lines of check --json. Lines that begin with blanks are printed verbatim.
const RowHelp = `  func, offset      as the kernel's symbol table names the place
  section, at       the same place as objdump -d prints it: one place only,
                    while static functions may share a name
  len, bytes        of the instruction, in hex as in memory; where none begins,
                    len is 0 and bytes is one byte
  errno             0, or what register_kprobe returns, below 0
  boostable         nothing is stepped: a jump back follows the copy
  optimizable       a jump may replace the breakpoint
  region            how many bytes are copied for it, else 0
  emulated, ftrace  the kernel does the step itself; there is no breakpoint
  isize, delta      the probed instruction's length as the kernel decodes it, 0
                    if it doesn't; 4 if the probe goes behind an endbr64
  reason            why it is refused or not optimizable, or ""
  boost_reason      why it isn't boostable; left out if refused
  padding           true behind the last instruction, else left out
  kpsim             which kpsim it is: in the first line only`

// printRows prints the JSON lines without reflection, since a module has a hundred thousand. The
// first line ends with named, which identifies this kpsim.
func (c *Check) printRows(w *bufio.Writer, s *survey.Survey, symbols []image.Symbol, named []byte) {
	var b, name, section []byte
	for i := range symbols {
		sym := &symbols[i]
		name, section = appendJSON(name[:0], sym.Name), appendJSON(section[:0], sym.Section)
		for _, r := range c.rows(s, sym, c.EveryByte) {
			length := len(r.Bytes)
			if r.Inside || r.Why.Kind == rules.Undecodable || r.Why.Kind == rules.BehindBad {
				length = 0
			}
			b = append(append(b[:0], `{"func":`...), name...)
			b = appendInt(b, `,"offset":`, r.Offset)
			b = appendInt(b, `,"len":`, length)
			b = append(b, `,"bytes":"`...)
			b = hex.AppendEncode(b, r.Bytes)
			b = appendInt(b, `","errno":`, r.Errno)
			b = appendBool(b, `,"boostable":`, r.Boosted)
			b = appendBool(b, `,"optimizable":`, r.Optimizable())
			b = appendBool(b, `,"emulated":`, r.Emulated)
			b = appendBool(b, `,"ftrace":`, r.Ftrace)
			b = appendInt(b, `,"isize":`, r.Len)
			b = appendInt(b, `,"delta":`, r.Delta)
			b = appendInt(b, `,"region":`, r.Region)
			b = appendJSON(append(b, `,"reason":`...), r.Why.In(sym.Name))
			if why := r.NoBoost.In(sym.Name); why != "" && r.Errno == 0 {
				b = appendJSON(append(b, `,"boost_reason":`...), why)
			}
			b = append(append(b, `,"section":`...), section...)
			b = appendInt(b, `,"at":`, sym.Offset+r.Offset)
			if r.Padding {
				b = append(b, `,"padding":true`...)
			}
			b = append(b, named...)
			named = nil
			w.Write(append(b, '}', '\n'))
		}
	}
}

func appendInt(b []byte, key string, v int) []byte {
	return strconv.AppendInt(append(b, key...), int64(v), 10)
}

func appendBool(b []byte, key string, v bool) []byte {
	return strconv.AppendBool(append(b, key...), v)
}

// appendJSON appends s as a JSON string.
func appendJSON(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // strings always marshal
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
