package wire

import "testing"

func TestIdentityIsReadAsFarAsItGoes(t *testing.T) {
	m := configMap("a", 10)
	whole := identity{"ns", "a", "uid-of-x", "7"}
	for _, e := range []Encoding{Protobuf, JSON} {
		m.TypeMeta = mapType
		raw := encode(t, JSON, &m)
		if e == Protobuf {
			var err error
			if raw, err = m.Marshal(); err != nil {
				t.Fatal(err)
			}
		}
		known := 0
		for n := range len(raw) + 1 {
			id, got := who(e, raw[:n]), 0
			for _, pair := range [][2]string{{id.namespace, whole.namespace}, {id.name, whole.name}, {id.uid, whole.uid}, {id.version, whole.version}} {
				if pair[0] != "" && pair[0] != pair[1] {
					t.Errorf("%v: %d bytes give %+v", e, n, id)
				}
				if pair[0] != "" {
					got++
				}
			}
			if got < known {
				t.Errorf("%v: %d bytes tell less than fewer", e, n)
			}
			known = got
		}
		if known != 4 {
			t.Errorf("%v: %d parts are known", e, known)
		}
	}
	for raw, want := range map[string]identity{
		``: {}, `7`: {}, `null`: {}, `{"metadata":7}`: {}, `{"metadata":{"name":7,"uid":"u"}}`: {uid: "u"},
		`{"spec":{},"metadata":{"name":"\u0061","namespace":"b"},"x":}`: {namespace: "b", name: "a"},
	} {
		if got := who(JSON, []byte(raw)); got != want {
			t.Errorf("%s: %+v", raw, got)
		}
	}
	if got := who(Unknown, []byte("x")); got != (identity{}) {
		t.Errorf("of no encoding: %+v", got)
	}
}
