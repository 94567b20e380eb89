package endpoints

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/sharding"
)

const (
	lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperHalf = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

func TestShardSelectorsAreParsed(t *testing.T) {
	namespaces := "shardRange(object.metadata.namespace, '0x00000000000000aa', '0xffffffffffffffff')"
	for _, c := range []struct{ text, want, err string }{
		{lowerHalf, lowerHalf, ""},
		{upperHalf, upperHalf, ""},
		{namespaces, namespaces, ""},
		{lowerHalf + "||" + upperHalf + "||" + lowerHalf, lowerHalf + " || " + upperHalf + " || " + lowerHalf, ""},
		{strings.ReplaceAll(lowerHalf, " ", ""), lowerHalf, ""},
		{" shardRange (\tobject . metadata.uid ,'0x0000000000000000' , \"0x8000000000000000\" )\n", lowerHalf, ""},

		{"", "", "expected shardRange at or before byte 0"},
		{" ", "", "expected shardRange at or before byte 1"},
		{"garbage", "", "expected shardRange at or before byte 7"},
		{"object.metadata.uid > '0x0'", "", "expected shardRange"},
		{lowerHalf + " && " + upperHalf, "", "expected || at or before byte 76"},
		{lowerHalf + " ||", "", "expected shardRange at or before byte 78"},
		{lowerHalf + ")", "", "expected ||"},
		{"(" + lowerHalf + ")", "", "expected shardRange"},
		{"shardRange", "", "expected ("},
		{"shardRange(object.metadata.uid)", "", "expected ,"},
		{"shardRange(object.metadata.uid, '0x0000000000000000')", "", "expected ,"},
		{"shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000', '')", "", "expected )"},
		{"shardRange(object.metadata.uid, 0, 8)", "", "expected a bound in quotes"},
		{"shardRange(object.metadata.uid, '0x0000000000000000, ", "", "a quote is not closed"},
		{strings.ReplaceAll(lowerHalf, "uid", "name"), "", `field "object.metadata.name" is neither`},
		{strings.ReplaceAll(lowerHalf, "uid", "uid."), "", `field "object.metadata.uid." is neither`},
		{strings.ReplaceAll(lowerHalf, "object.metadata.uid", ""), "", `field "" is neither`},
		{strings.ReplaceAll(lowerHalf, "0x8", "8"), "", `bound "8000000000000000" must be`},
		{strings.ReplaceAll(lowerHalf, "0x80", "0x8"), "", `bound "0x800000000000000" must be`},
		{strings.ReplaceAll(lowerHalf, "0x8", "0x80"), "", `bound "0x80000000000000000" must be`},
		{strings.ReplaceAll(lowerHalf, "0x8", "0xA"), "", `bound "0xA000000000000000" must be`},
		{strings.ReplaceAll(lowerHalf, "0x8", "0x0"), "", "the range is empty"},
		{strings.ReplaceAll(upperHalf, "0x1", "0x"), "", "the range is empty"},
		{lowerHalf + "||" + namespaces, "", `all ranges must be about the same field, not "object.metadata.uid" and "object.metadata.namespace"`},
	} {
		got, err := parseShardSelector(c.text)
		switch {
		case c.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), "invalid shard selector: ") || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %s", c.text, err, c.err)
			}
		case err != nil:
			t.Errorf("%q: %v", c.text, err)
		case got.String() != c.want:
			t.Errorf("%q: got %s", c.text, got)
		}
	}
}

// FuzzShardSelector parses arbitrary text. What is accepted says, but for space
// and the kind of quotes, the same as what is understood.
func FuzzShardSelector(f *testing.F) {
	f.Add(lowerHalf)
	f.Add(lowerHalf + " || " + upperHalf)
	f.Add(`shardRange(object.metadata.namespace,"0x00000000000000aa",'0xffffffffffffffff')`)
	f.Add("shardRange(object.metadata.uid, '0x0, '')||")
	f.Add("\xff(")
	plain := strings.NewReplacer(" ", "", "\t", "", "\n", "", "\f", "", "\r", "", `"`, "'")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseShardSelector(text)
		if err != nil {
			return
		}
		if got, want := plain.Replace(s.String()), plain.Replace(text); got != want {
			t.Errorf("%q is understood as %s", text, s)
		}
		for _, r := range s.Requirements() {
			if !sharding.HexLess(r.Start, r.End) || r.Key != s.Requirements()[0].Key {
				t.Errorf("%q: range %+v", text, r)
			}
		}
	})
}
