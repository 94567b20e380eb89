package watch

// resourceVersionGetter is the name by which client-go's tests know it.
type resourceVersionGetter = versioned
