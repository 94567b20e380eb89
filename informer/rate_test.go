package informer

import (
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

func TestAllClientsOfAFactoryShareItsLimit(t *testing.T) {
	own := flowcontrol.NewFakeAlwaysRateLimiter()
	for name, c := range map[string]struct {
		config rest.Config
		qps    float32 // of the limiter; 0 for none, and then no default either
	}{
		"none named":    {rest.Config{}, 0},
		"switched off":  {rest.Config{QPS: -1}, 0},
		"a rate":        {rest.Config{QPS: 7}, 7},
		"a rate, burst": {rest.Config{QPS: 7, Burst: 3}, 7},
		"one's own":     {rest.Config{QPS: 7, RateLimiter: own}, own.QPS()},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := NewFactory(&c.config, FactoryOptions{})
			if err != nil {
				t.Fatal(err)
			}
			switch limiter := f.config.RateLimiter; {
			case c.qps == 0 && (limiter != nil || f.config.QPS >= 0):
				t.Errorf("limiter %v, QPS %v: want no limit", limiter, f.config.QPS)
			case c.qps != 0 && (limiter == nil || limiter.QPS() != c.qps):
				t.Errorf("limiter %v, want one of %v", limiter, c.qps)
			}
		})
	}
}
