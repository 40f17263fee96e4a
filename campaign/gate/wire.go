package gate

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
)

// pack returns a message: the length of a JSON value, in four bytes, the value, and data.
func pack(v any, data []byte) ([]byte, error) {
	head, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	m := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(head)+len(data)), uint32(len(head)))
	return append(append(m, head...), data...), nil
}

// unpack reads a message into v, and returns its data.
func unpack(m []byte, v any) (data []byte, err error) {
	if len(m) < 4 {
		return nil, errors.New("a message without a length")
	}
	n := binary.BigEndian.Uint32(m)
	if uint64(n) > uint64(len(m)-4) {
		return nil, errors.New("a message that is cut off")
	}
	return m[4+n:], json.Unmarshal(m[4:4+n], v)
}

// An answer is the beginning of each answer.
type answer struct {
	Code string          `json:"code,omitempty"` // "": a body follows
	Why  string          `json:"why,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

// The codes of answers.
const (
	codeNone    = "none"    // the requested thing doesn't exist
	codeRefused = "refused" // asking again won't help
	codeDamaged = "damaged"
	codeLater   = "later" // the board doesn't answer, or there are too many requests
)

// answerOf writes an answer.
func answerOf(body any, data []byte, err error) []byte {
	var a answer
	switch {
	case err == nil:
		if a.Body, err = json.Marshal(body); err != nil {
			a = answer{Code: codeLater, Why: err.Error()}
		}
	case errors.Is(err, board.ErrNone):
		a.Code = codeNone
	case errors.Is(err, board.ErrDamaged):
		a.Code, a.Why = codeDamaged, err.Error()
	case errors.Is(err, board.ErrRefused):
		a.Code, a.Why = codeRefused, err.Error()
	default:
		a.Code, a.Why = codeLater, err.Error()
	}
	if a.Code != "" {
		data = nil
	}
	m, err := pack(&a, data)
	if err != nil {
		return nil // the asker will ask again
	}
	return m
}

// A refusal is the reason why a request is refused.
type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == board.ErrRefused }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// errLater is an error after which the request may be repeated.
var errLater = errors.New("the coordinator doesn't answer")

// ask sends a request once.
func ask(ctx context.Context, nc *nats.Conn, subject string, question any, data []byte, body any) ([]byte, error) {
	m, err := pack(question, data)
	if err != nil {
		return nil, err
	}
	got, err := nc.RequestWithContext(ctx, subject, m)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, errLater
	}
	if err != nil {
		return nil, err
	}
	var a answer
	rest, err := unpack(got.Data, &a)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errLater, err)
	case a.Code == codeNone:
		return nil, board.ErrNone
	case a.Code == codeDamaged:
		return nil, fmt.Errorf("%s%w", prefixOfDamaged(a.Why), board.ErrDamaged)
	case a.Code == codeRefused:
		return nil, refusal(a.Why)
	case a.Code != "":
		return nil, fmt.Errorf("%w: %s", errLater, a.Why)
	}
	return rest, json.Unmarshal(a.Body, body)
}

// prefixOfDamaged is the text that an error prepends to ErrDamaged's.
func prefixOfDamaged(why string) string {
	if n := len(why) - len(board.ErrDamaged.Error()); n > 0 && why[n:] == board.ErrDamaged.Error() {
		return why[:n]
	}
	return ""
}

// askUntilAnswered repeats a request until there is an answer, or the context ends.
func askUntilAnswered[T any](ctx context.Context, nc *nats.Conn, subject string, question any,
	data []byte) (body T, rest []byte, err error) {
	err = board.Retry(ctx, func(ctx context.Context) error {
		rest, err = ask(ctx, nc, subject, question, data, &body)
		return err
	})
	return body, rest, err
}

// emptyBody is the body of an answer that only confirms.
type emptyBody struct{}

// answerTimeout bounds the time that an answer takes.
const answerTimeout = 9 * time.Second
