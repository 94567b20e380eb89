package endpoints

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

const (
	shardDigits = 16                    // of a bound, after 0x
	shardTop    = "0x10000000000000000" // the only bound with more: 2^64
)

// parseShardSelector reads the parameter shardSelector: terms such as
//
//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')
//
// joined by ||, all about the same field, the uid or the namespace. The bounds
// are on the FNV-1a hash of its value, the upper one excluded. kube-apiserver
// reads the parameter as a CEL expression; the parentheses, comments and escapes
// that this allows as well are refused here.
func parseShardSelector(text string) (sharding.Selector, error) {
	p := &shardParser{text: text, rest: text}
	var terms []sharding.ShardRangeRequirement
	for {
		term, err := p.term()
		if err != nil {
			return nil, fmt.Errorf("invalid shard selector: %w", err)
		}
		terms = append(terms, term)
		if term.Key != terms[0].Key {
			return nil, fmt.Errorf("invalid shard selector: all ranges must be about the same field, not %q and %q", terms[0].Key, term.Key)
		}
		if p.space(); p.rest == "" {
			return sharding.NewSelector(terms...), nil
		}
		if err := p.expect("||"); err != nil {
			return nil, fmt.Errorf("invalid shard selector: %w", err)
		}
	}
}

// shardParser takes a selector apart from the left.
type shardParser struct {
	text, rest string
}

// term reads one shardRange(key, start, end).
func (p *shardParser) term() (term sharding.ShardRangeRequirement, err error) {
	if function := p.word(); function != "shardRange" {
		return term, p.fail("shardRange")
	}
	if err = p.expect("("); err != nil {
		return term, err
	}
	if term.Key, err = p.key(); err != nil {
		return term, err
	}
	if err = p.expect(","); err != nil {
		return term, err
	}
	if term.Start, err = p.bound(); err != nil {
		return term, err
	}
	if err = p.expect(","); err != nil {
		return term, err
	}
	if term.End, err = p.bound(); err != nil {
		return term, err
	}
	if err = p.expect(")"); err != nil {
		return term, err
	}
	if !sharding.HexLess(term.Start, term.End) {
		return term, fmt.Errorf("the range is empty: its start %s must be less than its end %s", term.Start, term.End)
	}
	return term, nil
}

// key reads the path of a field.
func (p *shardParser) key() (string, error) {
	key := p.word()
	for p.expect(".") == nil {
		key += "." + p.word()
	}
	if key != "object.metadata.uid" && key != "object.metadata.namespace" {
		return "", fmt.Errorf("field %q is neither object.metadata.uid nor object.metadata.namespace", key)
	}
	return key, nil
}

// bound reads a number in quotes.
func (p *shardParser) bound() (string, error) {
	quote := "'"
	if p.expect(quote) != nil {
		if quote = `"`; p.expect(quote) != nil {
			return "", p.fail("a bound in quotes")
		}
	}
	bound, rest, closed := strings.Cut(p.rest, quote)
	if !closed {
		return "", errors.New("a quote is not closed")
	}
	p.rest = rest
	digits, hex := strings.CutPrefix(bound, "0x")
	if !hex || strings.Trim(digits, "0123456789abcdef") != "" || len(digits) != shardDigits && bound != shardTop {
		return "", fmt.Errorf("bound %q must be 0x and %d lower-case hexadecimal digits, or %s", bound, shardDigits, shardTop)
	}
	return bound, nil
}

func (p *shardParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\n\f\r") }

// word reads letters, of which there may be none.
func (p *shardParser) word() string {
	p.space()
	rest := strings.TrimLeft(p.rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
	word := p.rest[:len(p.rest)-len(rest)]
	p.rest = rest
	return word
}

// expect reads one token; if something else comes, nothing is read.
func (p *shardParser) expect(token string) error {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if !ok {
		return p.fail(token)
	}
	p.rest = rest
	return nil
}

func (p *shardParser) fail(want string) error {
	return fmt.Errorf("expected %s at or before byte %d", want, len(p.text)-len(p.rest))
}
