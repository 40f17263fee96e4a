package gate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// pageBytes is about the largest answer that holds several entries.
const pageBytes = 384 << 10

// An idAsk names a campaign: the request is about it, or about those after it.
type idAsk struct {
	ID string `json:"id"`
}

// states returns the campaigns whose ID follows the given one, without their results.
func (g *Gate) states(ctx context.Context, q *idAsk, _ []byte) (any, []byte, error) {
	all, err := g.b.States(ctx)
	if err != nil {
		return nil, nil, err
	}
	list := []*board.State{}
	size := 0
	for _, s := range all {
		s.ScenarioEnds = nil
		size += 400
		for _, c := range s.Causes {
			size += len(c) + 3
		}
		if s.ID <= q.ID {
			size = 0
			continue
		}
		if size > pageBytes && len(list) > 0 {
			break
		}
		list = append(list, s)
	}
	return list, nil, nil
}

func (g *Gate) state(ctx context.Context, q *idAsk, _ []byte) (any, []byte, error) {
	s, _, err := g.b.State(ctx, q.ID)
	return s, nil, err
}

func (g *Gate) status(ctx context.Context, q *idAsk, _ []byte) (any, []byte, error) {
	s, err := g.b.LatestStatus(ctx, q.ID)
	return s, nil, err
}

// A beginAsk begins a campaign.
type beginAsk struct {
	Name     string `json:"name"`
	Build    string `json:"build"`
	Priority int    `json:"priority"`
}

// mostCampaigns is the most campaigns that a server keeps.
const mostCampaigns = 20_000

// begin gives a campaign its ID.
func (g *Gate) begin(ctx context.Context, q *beginAsk, _ []byte) (any, []byte, error) {
	if !board.IsName(q.Name) || !board.IsBuild(q.Build) || q.Priority > board.MostPriority ||
		q.Priority < -board.MostPriority {
		return nil, nil, refuse("the campaign's name, build or priority isn't valid")
	}
	for {
		states, err := g.b.States(ctx)
		if err != nil {
			return nil, nil, err
		}
		if len(states) >= mostCampaigns {
			return nil, nil, refuse("there are %d campaigns, the most that a server keeps; start in another folder",
				len(states))
		}
		s := &board.State{Name: q.Name, Build: q.Build, Priority: q.Priority, State: board.Starting,
			Began: time.Now().UTC()}
		if s.ID, s.Previous, err = next(states, q.Name); err != nil {
			return nil, nil, err
		}
		if err = g.b.CreateState(ctx, s); errors.Is(err, jetstream.ErrKeyExists) {
			continue // another client was quicker
		}
		return s, nil, err
	}
}

// next returns the ID of a name's next campaign, and of the last one that has ended.
func next(states []*board.State, name string) (id, last string, err error) {
	n, lastN := 0, 0
	for _, s := range states {
		k := board.Number(s.ID)
		if s.ID != fmt.Sprintf("%s-%d", name, k) {
			continue
		}
		n = max(n, k)
		if s.State == board.Ended && k > lastN {
			lastN, last = k, s.ID
		}
	}
	id = fmt.Sprintf("%s-%d", name, n+1)
	if !board.IsID(id) {
		return "", "", refuse("there is no number after %d for a campaign of that name; choose another name", n)
	}
	return id, last, nil
}

// put stores a piece of a file, under its own digest.
func (g *Gate) put(ctx context.Context, _ *emptyBody, data []byte) (any, []byte, error) {
	if len(data) > board.MostPiece {
		return nil, nil, refuse("a piece of %d bytes; one has %d at most", len(data), board.MostPiece)
	}
	_, err := g.b.PutPiece(ctx, data)
	return emptyBody{}, nil, err
}

// has reports whether a piece is stored: then it isn't sent.
func (g *Gate) has(ctx context.Context, q *fileAsk, _ []byte) (any, []byte, error) {
	_, err := g.b.Piece(ctx, q.Digest)
	return emptyBody{}, nil, err
}

// A runAsk reports that a campaign's plan is stored.
type runAsk struct {
	ID   string `json:"id"`
	Plan string `json:"plan"`
}

// run starts a campaign. It reads the plan as workers will read it.
func (g *Gate) run(ctx context.Context, q *runAsk, _ []byte) (any, []byte, error) {
	done, err := g.acquireBig(ctx, board.MostResult)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	c, err := board.Campaign(ctx, g.b, q.ID, q.Plan)
	if err != nil && ctx.Err() != nil {
		return nil, nil, errLater
	}
	if err != nil {
		return nil, nil, refuse("%s", plan.Clean(err.Error(), board.MostWhy, false))
	}
	var wrong error
	s, err := g.b.Change(ctx, q.ID, func(s *board.State) bool {
		switch {
		case s.State == board.Running && s.Plan == q.Plan: // the answer was lost
		case s.State != board.Starting:
			wrong = refuse("%s is %s", s.ID, s.State)
		case c.Name != s.Name || c.Build != s.Build || c.Previous != s.Previous:
			wrong = refuse("%s has the plan of another campaign", s.ID)
		default:
			wrong, s.State, s.Plan = nil, board.Running, q.Plan
			return true
		}
		return false
	})
	if err == nil {
		err = wrong
	}
	return s, nil, err
}

// A changeAsk pauses, continues or cancels a campaign.
type changeAsk struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// enteredFrom lists the states from which a campaign may enter each state.
var enteredFrom = map[string][]string{
	board.Paused:    {board.Running},
	board.Running:   {board.Paused},
	board.Cancelled: {board.Running, board.Paused, board.Starting},
}

func (g *Gate) change(ctx context.Context, q *changeAsk, _ []byte) (any, []byte, error) {
	if enteredFrom[q.To] == nil {
		return nil, nil, refuse("a client can't make a campaign %s", plan.Clean(q.To, 40, false))
	}
	was := ""
	s, err := g.b.Change(ctx, q.ID, func(s *board.State) bool {
		if was = s.State; !slices.Contains(enteredFrom[q.To], was) {
			return false
		}
		s.State = q.To
		return true
	})
	if err == nil && !slices.Contains(enteredFrom[q.To], was) {
		return nil, nil, refuse("%s is %s already", s.ID, was)
	}
	return s, nil, err
}

func (g *Gate) forget(ctx context.Context, q *idAsk, _ []byte) (any, []byte, error) {
	s, _, err := g.b.State(ctx, q.ID)
	if err != nil {
		return nil, nil, err
	}
	if s.Open() {
		return nil, nil, refuse("%s is %s; cancel it first: kpsim-campaign cancel %s", s.ID, s.State, s.ID)
	}
	return emptyBody{}, nil, g.b.Forget(ctx, s.ID)
}

// keyForm is the form of a unit's key, or of the beginning of one.
var keyForm = regexp.MustCompile(`^[a-z0-9_-]{1,60}(\.[0-9]{1,9}(\.[0-9]{1,9}(\.[a-z](\.-?[0-9]{1,10}){0,2})?)?)?$`)

// results returns results, one after another.
func (g *Gate) results(ctx context.Context, q *resultsAsk, _ []byte) (any, []byte, error) {
	if !keyForm.MatchString(q.Key) || !board.IsID(campaignOf(q.Key)) {
		return nil, nil, refuse("the key isn't valid")
	}
	if q.One {
		if _, err := board.UnitOf(q.Key); err != nil {
			return nil, nil, refuse("the key isn't valid")
		}
		p, err := g.b.Result(ctx, q.Key)
		if err != nil {
			return nil, nil, err
		}
		return []result{{p, len(p.Data)}}, p.Data, nil
	}
	list, err := g.b.Page(ctx, q.Key, q.After)
	if err != nil {
		return nil, nil, err
	}
	answer := []result{}
	var data []byte
	for _, p := range list {
		answer, data = append(answer, result{p, len(p.Data)}), append(data, p.Data...)
	}
	return answer, data, nil
}

// A result is one entry of an answer; the data of all entries follow it, one after another.
type result struct {
	*board.Packed
	Bytes int `json:"bytes"`
}

func (g *Gate) large(ctx context.Context, q *largeAsk, _ []byte) (any, []byte, error) {
	if q.N < 0 || q.N >= board.MostPieces {
		return nil, nil, board.ErrNone
	}
	data, err := g.b.Large(ctx, q.Key, q.Delivery, q.N)
	return emptyBody{}, data, err
}

// A listAsk asks for the entries after a place.
type listAsk struct {
	ID    string `json:"id"`
	After uint64 `json:"after"`
}

// A differingAnswer is the answer of differing.
type differingAnswer struct {
	List []board.Trouble `json:"list"`
	Last uint64          `json:"last"` // where to continue; 0: there are no more
}

func (g *Gate) differing(ctx context.Context, q *listAsk, _ []byte) (any, []byte, error) {
	if !board.IsID(q.ID) {
		return nil, nil, board.ErrNone
	}
	list, last, err := g.b.Differing(ctx, q.ID, q.After)
	return &differingAnswer{list, last}, nil, err
}

// A causesAnswer is the answer of causes.
type causesAnswer struct {
	List    []*board.Cause `json:"list"`
	Damaged int            `json:"damaged"` // in all
}

// causes returns the buckets of finds whose name follows the given one.
func (g *Gate) causes(ctx context.Context, q *idAsk, _ []byte) (any, []byte, error) {
	all, damaged, err := g.b.Causes(ctx)
	if err != nil {
		return nil, nil, err
	}
	f := &causesAnswer{Damaged: damaged}
	size := 0
	for _, c := range all {
		if strings.Compare(c.Cause, q.ID) <= 0 {
			continue
		}
		if size += len(c.Trace) + 2000; size > pageBytes && len(f.List) > 0 {
			break
		}
		f.List = append(f.List, c)
	}
	return f, nil, nil
}
