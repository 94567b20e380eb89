package cache

import (
	"strconv"
	"sync"
)

// provider is what SetInformerMetricsProvider was given.
var provider struct {
	sync.Mutex
	informers InformerMetricsProvider
}

// SetInformerMetricsProvider sets the provider of metrics for the stores and
// informers of this package that are made from then on. Only the first call has an
// effect, as with client-go; what is set there is not seen here.
func SetInformerMetricsProvider(metricsProvider InformerMetricsProvider) {
	provider.Lock()
	defer provider.Unlock()
	if provider.informers == nil {
		provider.informers = metricsProvider
	}
}

// metricsFor returns the provider to use for an informer, or nil for no metrics.
func metricsFor(id InformerNameAndResource, given InformerMetricsProvider) InformerMetricsProvider {
	if !id.Reserved() {
		return nil
	}
	if given != nil {
		return given
	}
	provider.Lock()
	defer provider.Unlock()
	return provider.informers
}

// versionMetric shows the version of a store. The zero value shows nothing.
type versionMetric struct{ gauge GaugeMetric }

func newVersionMetric(id InformerNameAndResource, given InformerMetricsProvider) versionMetric {
	if p := metricsFor(id, given); p != nil {
		return versionMetric{p.NewStoreResourceVersionMetric(id)}
	}
	return versionMetric{}
}

// exactDigits is how many of the last digits of a version a gauge shows exactly.
const exactDigits = 15

func (m versionMetric) set(version string) {
	if m.gauge == nil {
		return
	}
	if version == "" {
		m.gauge.Set(0)
		return
	}
	if n, err := strconv.ParseInt(version[max(0, len(version)-exactDigits):], 10, 64); err == nil {
		m.gauge.Set(float64(n))
	}
}
