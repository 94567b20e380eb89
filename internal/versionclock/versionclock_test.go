package versionclock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnlyVersionsWithAnOrderCanBeWaitedFor(t *testing.T) {
	var c Clock
	for _, version := range []string{"", "0", "-1", "07", "abc", "1.5", " 1"} {
		if _, err := c.Await(version, func(error) { t.Errorf("%q: told", version) }); !errors.Is(err, ErrVersion) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// outcome waits for version and returns where what is told is found.
func outcome(t *testing.T, c *Clock, version string) (*Waiter, *[]error) {
	t.Helper()
	told := &[]error{}
	w, err := c.Await(version, func(err error) { *told = append(*told, err) })
	if err != nil {
		t.Fatal(err)
	}
	return w, told
}

func TestAWaitEndsOnceAndAtItsVersion(t *testing.T) {
	var c Clock
	_, low := outcome(t, &c, "9")
	_, high := outcome(t, &c, "10")
	c.Advance("8")
	if len(*low)+len(*high) != 0 {
		t.Errorf("at 8: %v, %v", *low, *high)
	}
	c.Advance("9")
	if fmt.Sprint(*low, *high) != "[<nil>] []" {
		t.Errorf("at 9: %v, %v", *low, *high)
	}
	c.Advance("3") // not back
	c.Advance("100")
	if fmt.Sprint(*low, *high) != "[<nil>] [<nil>]" || c.Version() != "100" {
		t.Errorf("at %s: %v, %v", c.Version(), *low, *high)
	}
	if _, past := outcome(t, &c, "50"); fmt.Sprint(*past) != "[<nil>]" {
		t.Errorf("past: %v", *past)
	}
}

func TestANewEpochEndsTheWaitsOfTheOld(t *testing.T) {
	var c Clock
	c.Advance("100")
	_, old := outcome(t, &c, "101")
	c.Restart("50")
	_, fresh := outcome(t, &c, "60")
	c.Advance("60")
	if len(*old) != 1 || !errors.Is((*old)[0], ErrEpoch) || fmt.Sprint(*fresh) != "[<nil>]" {
		t.Errorf("old %v, new %v", *old, *fresh)
	}
}

func TestVersionsWithoutAnOrderEndAllWaits(t *testing.T) {
	var c Clock
	_, before := outcome(t, &c, "5")
	c.Advance("one")
	_, after := outcome(t, &c, "5")
	for _, told := range [][]error{*before, *after} {
		if len(told) != 1 || !errors.Is(told[0], ErrIncomparable) {
			t.Errorf("told %v", told)
		}
	}
}

func TestAForgottenWaitIsNotTold(t *testing.T) {
	var c Clock
	w, told := outcome(t, &c, "5")
	if !c.Forget(w) || c.Forget(w) {
		t.Error("forgotten twice, or not at all")
	}
	c.Advance("5")
	if len(*told) != 0 {
		t.Errorf("told %v", *told)
	}
	done, _ := outcome(t, &c, "5")
	if c.Forget(done) {
		t.Error("a wait that has ended was forgotten")
	}
}

func TestRandomWaitsEndAtTheirVersions(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var c Clock
		at := 0
		ended, forgotten := map[int]int{}, map[int]bool{}
		waiters, wanted := []*Waiter{}, []int{}
		for range 300 {
			switch random.IntN(3) {
			case 0:
				at += random.IntN(5)
				c.Advance(strconv.Itoa(max(at, 1)))
			case 1:
				n := len(waiters)
				version := max(1, at+random.IntN(40)-10)
				w, err := c.Await(strconv.Itoa(version), func(error) { ended[n]++ })
				if err != nil {
					t.Fatal(err)
				}
				waiters, wanted = append(waiters, w), append(wanted, version)
			default:
				if len(waiters) > 0 {
					n := random.IntN(len(waiters))
					forgotten[n] = c.Forget(waiters[n]) || forgotten[n]
				}
			}
			reached, _ := strconv.Atoi(c.Version())
			for n, version := range wanted {
				if want := !forgotten[n] && version <= reached; (ended[n] == 1) != want || ended[n] > 1 {
					t.Fatalf("seed %d: at %d the wait for %d ended %d times", seed, reached, version, ended[n])
				}
			}
		}
	}
}
