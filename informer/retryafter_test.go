package informer

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// pausing is a transport whose server asks for a pause of half a minute, in the
// header of its answers alone.
type pausing struct {
	began time.Time
	asked []time.Duration
}

func (p *pausing) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked = append(p.asked, time.Since(p.began))
	header := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"30"}}
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func TestTheInformersOfAFactoryHeedRetryAfterInTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pausing{began: time.Now()}
		f, err := NewFactory(&rest.Config{Host: "http://nowhere", Transport: p}, FactoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := For(t.Context(), f, Options[*corev1.ConfigMap]{Scope: Scope{Resource: "configmaps"}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.Start(ctx)
		time.Sleep(65 * time.Second)
		cancel()
		f.Stop()
		if len(p.asked) != 3 || p.asked[1] != 30*time.Second || p.asked[2] != time.Minute {
			t.Errorf("asked at %v", p.asked)
		}
	})
}
