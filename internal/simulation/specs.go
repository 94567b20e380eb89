package simulation

import (
	"fmt"
	"time"
)

func (s *simulation) mirrorSpec(i int) MirrorSpec {
	spec := MirrorSpec{
		Name:      fmt.Sprint(mirrorAgent, i),
		Form:      pick(s.rnd, formTyped, formUnstructured, formMetadata),
		Paged:     s.rnd.IntN(3) == 0,
		PageSize:  1 + s.rnd.Int64N(4),
		Transform: s.rnd.IntN(3) == 0,

		WatchTimeout: 5*time.Minute + seconds(s.rnd, 300).Truncate(time.Second),
		Backoff:      500*time.Millisecond + seconds(s.rnd, 1),
	}
	switch s.rnd.IntN(4) {
	case 0:
		spec.Namespace = pick(s.rnd, namespaces...)
	case 1:
		spec.Colour = pick(s.rnd, colours...)
	}
	spec.StaleStart = s.rnd.IntN(3) == 0
	if s.rnd.IntN(2) == 0 {
		spec.RelistBudget = 1 + s.rnd.IntN(3)
	}
	return spec
}

func (s *simulation) handlerSpec() HandlerSpec {
	s.names++
	spec := HandlerSpec{Name: fmt.Sprint("h", s.names), Seed: s.rnd.Uint64()}
	switch s.rnd.IntN(7) {
	case 0: // quick
	case 1:
		spec.Colour = pick(s.rnd, colours...)
	case 2:
		spec.Resync = seconds(s.rnd, 300) + time.Minute
	case 3:
		spec.Panics = true
	case 4:
		spec.Colour, spec.Resync, spec.Pause = pick(s.rnd, colours...), 5*time.Minute, seconds(s.rnd, 10)
	case 5:
		spec.Loop, spec.Pause = true, seconds(s.rnd, 10)
		return spec
	}
	if s.rnd.IntN(3) == 0 { // slow
		spec.Pause, spec.Budget = seconds(s.rnd, 30), 1+s.rnd.IntN(5)
	}
	return spec
}
