package watch

// resourceVersionGetter is the name by which client-go's tests know it.
type resourceVersionGetter = versioned

var _ resourceVersionGetter // only they use it
