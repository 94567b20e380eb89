package protobuf

import "testing"

// TestWhatAPodAllocates holds the line for the hot path. The thousand Pods are
// distinct, ten to a set, and the first of a set is decoded without help.
// Which values meet in the tables depends on the random seed of the hashes, so
// there is room of a few percent.
func TestWhatAPodAllocates(t *testing.T) {
	raws := benchPods(t, 100)
	for i, most := range []float64{88, 22, 21, 6} {
		m := benchModes[i]
		d := decoderFor(t, podType, m.o)
		next := 0
		perPod := testing.AllocsPerRun(len(raws)-1, func() { // and once before
			decodeOnly(t, d, raws[next])
			next++
		})
		if perPod > most {
			t.Errorf("%s: %v allocations, want at most %v", m.name, perPod, most)
		}
	}
}

func decodeOnly(t *testing.T, d *Decoder, raw []byte) {
	if _, err := d.Decode(raw); err != nil {
		t.Fatal(err)
	}
}
