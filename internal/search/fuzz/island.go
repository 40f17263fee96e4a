package fuzz

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kpsim/internal/search/twoengines"
	"kpsim/properties"
)

// An Island is the result of an island's programs, as data. Two computers that make the same
// island get the same bytes (Marshal). The programs aren't included: a session plans them again,
// so that an island can't report a program that it wasn't given.
type Island struct {
	Round    uint64 `json:"round"`
	Number   uint64 `json:"number"`
	Plan     uint64 `json:"plan"` // a hash of the recipes
	Programs []Ran  `json:"programs"`
}

// A Ran is the result of one program: its fields are those of Program.
type Ran struct {
	Refused    bool    `json:"refused,omitempty"`
	Runs       uint64  `json:"runs,omitempty"`
	Points     uint64  `json:"points,omitempty"`
	Violations uint64  `json:"violations,omitempty"`
	During     uint64  `json:"during,omitempty"`
	Broken     []Broke `json:"broken,omitempty"` // in the order of properties.All
	Otherwise  string  `json:"otherwise,omitempty"`
	Like       string  `json:"like,omitempty"`
	Features   []byte  `json:"features,omitempty"` // packed
	Blocks     []byte  `json:"blocks,omitempty"`   // packed
}

// A Broke counts the runs that broke a property with findings that read alike.
type Broke struct {
	Property string `json:"property"`
	Kind     uint64 `json:"kind"` // a hash of their wording
	Runs     uint64 `json:"runs"`
	First    uint64 `json:"first"` // the number of the first such run
}

// Limits of an island.
const (
	islandBytes    = 256 << 20
	pointsMost     = 1 << 48 // of a program
	otherwiseBytes = 1 << 16
	featuresMost   = tableSize * 3 / 4
)

// Marshal returns the island as one line of text.
func (i *Island) Marshal() []byte {
	b, err := json.Marshal(i)
	if err != nil {
		panic(err) // can't happen: numbers, strings and bytes only
	}
	return b
}

// ReadIsland is the inverse of Marshal. It accepts only bytes that Marshal generates;
// Session.Read checks the contents.
func ReadIsland(b []byte) (*Island, error) {
	if len(b) > islandBytes || bytes.Count(b, []byte("{")) > programsMost*(1+kindsMost*len(properties.All))+1 {
		return nil, fmt.Errorf("an island of %d bytes is too large", len(b))
	}
	i := new(Island)
	if err := json.Unmarshal(b, i); err != nil {
		return nil, fmt.Errorf("no island: %.80q", err.Error())
	}
	if !bytes.Equal(i.Marshal(), b) {
		return nil, errors.New("no island: it isn't written as islands are")
	}
	return i, nil
}

// write returns a program as data, before the island takes it.
func (is *islander) write(p *Program) Ran {
	if p.Refused {
		return Ran{Refused: true}
	}
	r := Ran{Runs: p.Runs, Points: p.Points, Violations: p.Violations, During: p.During, Otherwise: p.Otherwise,
		Like: p.Like, Broken: p.Broken}
	slices.Sort(p.features)
	r.Features, r.Blocks = is.pack(p.features), packUp(nil, p.blocks)
	return r
}

// text makes a text valid for JSON and short enough for Read.
func text(s string) string {
	s = strings.ToValidUTF8(s, "?")
	for len(s) > otherwiseBytes || !utf8.ValidString(s) {
		s = s[:min(len(s)-1, otherwiseBytes)]
	}
	return s
}

// read is the inverse of write: it fills in a planned program. It omits Parts, Edition and
// Optimizes, since most programs are soon forgotten and Describe can compute them.
func (is *islander) read(p *Program, r *Ran) (err error) {
	s := is.session
	p.Refused, p.whole = r.Refused, true
	if r.Refused {
		if !r.empty() {
			return errors.New("it was refused, and has results")
		}
		if _, _, err := s.Scenario(&p.Recipe); err == nil {
			return errors.New("it isn't refused here")
		}
		return nil
	}
	switch {
	case r.Runs == 0 || r.Runs/longer > s.Each || r.Runs > s.Each*longer:
		return fmt.Errorf("a program has 1 to %d runs, not %d", s.Each*longer, r.Runs)
	case r.Points > pointsMost:
		return fmt.Errorf("%d points are too many", r.Points)
	case r.During > r.Runs || r.Violations > r.Runs:
		return fmt.Errorf("more runs than the %d that it has", r.Runs)
	case r.Otherwise == "" && r.Like != "" || r.Otherwise != "" && !s.compares(p):
		return errors.New("its answers aren't compared")
	case r.Otherwise != text(r.Otherwise) || !knownLike(r.Like):
		return errors.New("no answer is like that")
	}
	p.Runs, p.Points, p.Violations, p.During, p.Otherwise, p.Like = r.Runs, r.Points, r.Violations, r.During,
		r.Otherwise, r.Like
	if err := p.brokenAs(r.Broken); err != nil {
		return err
	}
	if p.features, err = is.unpack(r.Features); err != nil {
		return fmt.Errorf("features: %w", err)
	}
	if !bytes.Equal(is.pack(p.features), r.Features) {
		return errors.New("features: they aren't packed as features are")
	}
	if p.blocks, err = unpackUp(r.Blocks, len(is.reach.blocks)); err != nil {
		return fmt.Errorf("blocks: %w", err)
	}
	for _, b := range p.blocks {
		if is.reach.reached[b] {
			return errors.New("blocks: one was reached before")
		}
	}
	if !bytes.Equal(packUp(nil, p.blocks), r.Blocks) {
		return errors.New("blocks: they aren't packed as blocks are")
	}
	return nil
}

func (r *Ran) empty() bool {
	return r.Runs == 0 && r.Points == 0 && r.Violations == 0 && r.During == 0 && r.Broken == nil && r.Otherwise == "" &&
		r.Like == "" && r.Features == nil && r.Blocks == nil
}

// brokenAs fills in what a program has broken. Each run breaks at most one property.
func (p *Program) brokenAs(list []Broke) error {
	sum := uint64(0)
	for i, b := range list {
		at := rank(b.Property)
		switch {
		case at == len(properties.All):
			return fmt.Errorf("no property is called %.40q", b.Property)
		case i > 0 && (at < rank(list[i-1].Property) || at == rank(list[i-1].Property) && b.First <= list[i-1].First):
			return fmt.Errorf("%s is out of order", b.Property)
		case slices.ContainsFunc(list[:i], func(c Broke) bool { return c.Property == b.Property && c.Kind == b.Kind }):
			return fmt.Errorf("%s is there twice in the same words", b.Property)
		case i >= kindsMost && list[i-kindsMost].Property == b.Property:
			return fmt.Errorf("%s is broken in more ways than are told apart", b.Property)
		case b.Runs == 0 || b.Runs > p.Runs || b.First > p.Runs-b.Runs:
			return fmt.Errorf("%s is broken by %d runs from run %d on, of %d", b.Property, b.Runs, b.First, p.Runs)
		}
		sum += b.Runs
	}
	if sum != p.Violations {
		return fmt.Errorf("%d runs break something, and %d break a property", p.Violations, sum)
	}
	p.Broken = list
	return nil
}

// knownLike reports whether name is a known difference of a program's answers.
func knownLike(name string) bool {
	return name == "" || name == unloadKept ||
		slices.ContainsFunc(twoengines.Known, func(d twoengines.Difference) bool { return d.Name == name })
}

// pack packs sorted features: numbers for known features, hashes for the others. Most are known
// and take one byte.
func (is *islander) pack(list []uint64) []byte {
	var old []uint32
	var news []byte
	for _, f := range list {
		if i, ok := is.index[f]; ok {
			old = append(old, i)
		} else {
			news = binary.BigEndian.AppendUint64(news, f)
		}
	}
	slices.Sort(old)
	b := binary.AppendUvarint(nil, uint64(len(old)))
	return append(packUp(b, old), news...)
}

// unpack is the inverse of pack.
func (is *islander) unpack(b []byte) ([]uint64, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > featuresMost {
		return nil, errors.New("they begin with no count")
	}
	b = b[size:]
	end := 0
	for k := uint64(0); k < n; end++ {
		if end == len(b) {
			return nil, errors.New("some are missing")
		}
		if b[end] < 1<<7 {
			k++
		}
	}
	old, err := unpackUp(b[:end], len(is.seen))
	if err != nil {
		return nil, err
	}
	b = b[end:]
	if len(b)%8 != 0 || n+uint64(len(b)/8) > featuresMost {
		return nil, errors.New("they end within one, or are too many")
	}
	list := make([]uint64, 0, len(old)+len(b)/8)
	last := uint64(0)
	for ; len(b) > 0; b = b[8:] {
		f := binary.BigEndian.Uint64(b)
		if f <= last || is.known(f) {
			return nil, errors.New("one is out of order, or isn't new")
		}
		list, last = append(list, f), f
	}
	for _, i := range old {
		list = append(list, is.seen[i].hash)
	}
	slices.Sort(list)
	return list, nil
}

// packUp packs increasing numbers as differences.
func packUp(b []byte, list []uint32) []byte {
	next := uint32(0)
	for _, n := range list {
		b = binary.AppendUvarint(b, uint64(n-next))
		next = n + 1
	}
	return b
}

// unpackUp is the inverse of packUp; all numbers must be below most.
func unpackUp(b []byte, most int) (list []uint32, err error) {
	next := uint64(0)
	for len(b) > 0 {
		gap, size := binary.Uvarint(b)
		if size <= 0 || gap >= uint64(most) || next+gap >= uint64(most) {
			return nil, fmt.Errorf("there are %d, and one is beyond them", most)
		}
		list, next, b = append(list, uint32(next+gap)), next+gap+1, b[size:]
	}
	return list, nil
}
