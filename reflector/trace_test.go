package reflector

import "testing"

func TestASourceFindsTheTraceOfItsContext(t *testing.T) {
	if trace := SourceTraceFrom(t.Context()); trace == nil || trace.Read != nil {
		t.Errorf("without a trace: %+v, want one without hooks", trace)
	}
	read := 0
	outer := WithSourceTrace(t.Context(), &SourceTrace{Read: func(n int) { read += n }})
	SourceTraceFrom(outer).Read(7)
	if read != 7 {
		t.Errorf("read %d bytes, want 7", read)
	}
	if trace := SourceTraceFrom(WithSourceTrace(outer, nil)); trace == nil || trace.Read != nil {
		t.Errorf("a nil trace over another: %+v, want one without hooks", trace)
	}
}
