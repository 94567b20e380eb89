package storage_test

import (
	"context"
	"testing"

	suite "k8s.io/apiserver/pkg/storage/testing"
)

// wired are the functions of the suite that judge ours.
var wired = []struct {
	name string
	run  func(ctx context.Context, t *testing.T, h *harness)
	// storeOnly is the reason why a function does not judge the cache.
	storeOnly string
}{
	// Writes.
	{name: "RunTestCreate", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestCreate(ctx, t, h, h.checkStored)
	}},
	{name: "RunTestCreateWithKeyExist", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestCreateWithKeyExist(ctx, t, h)
	}},
	{name: "RunTestUnconditionalDelete", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestUnconditionalDelete(ctx, t, h)
	}},
	{name: "RunTestConditionalDelete", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestConditionalDelete(ctx, t, h)
	}},
	{name: "RunTestDeleteWithSuggestion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithSuggestion(ctx, t, h)
	}},
	{name: "RunTestDeleteWithSuggestionAndConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithSuggestionAndConflict(ctx, t, h)
	}},
	{name: "RunTestDeleteWithConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithConflict(ctx, t, h)
	}},
	{name: "RunTestDeleteWithSuggestionOfDeletedObject", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteWithSuggestionOfDeletedObject(ctx, t, h)
	}},
	{name: "RunTestValidateDeletionWithSuggestion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestValidateDeletionWithSuggestion(ctx, t, h)
	}},
	{name: "RunTestValidateDeletionWithOnlySuggestionValid", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestValidateDeletionWithOnlySuggestionValid(ctx, t, h)
	}},
	{name: "RunTestPreconditionalDeleteWithSuggestion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestPreconditionalDeleteWithSuggestion(ctx, t, h)
	}},
	{name: "RunTestPreconditionalDeleteWithOnlySuggestionPass", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestPreconditionalDeleteWithOnlySuggestionPass(ctx, t, h)
	}},
	{name: "RunTestGuaranteedUpdate", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdate(ctx, t, h.transformable(), h.checkStored)
	}},
	{name: "RunTestGuaranteedUpdateChecksStoredData", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdateChecksStoredData(ctx, t, h.transformable())
	}},
	{name: "RunTestGuaranteedUpdateWithConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdateWithConflict(ctx, t, h)
	}},
	{name: "RunTestGuaranteedUpdateWithSuggestionAndConflict", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGuaranteedUpdateWithSuggestionAndConflict(ctx, t, h)
	}},

	// Reads.
	{name: "RunTestGet", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGet(ctx, t, h)
	}},
	{name: "RunTestList", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestList(ctx, t, h, h.compact, h.cache != nil, suite.NewKubernetesRecorder(nil))
	}},
	{name: "RunTestConsistentList", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestConsistentList(ctx, t, h, h.increase, h.cache != nil, true, true)
	}},
	{name: "RunTestGetListNonRecursive", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGetListNonRecursive(ctx, t, h.increase, h)
	}},
	{name: "RunTestGetListRecursivePrefix", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestGetListRecursivePrefix(ctx, t, h)
	}},
	{name: "RunTestListPaging", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListPaging(ctx, t, h)
	}},
	{name: "RunTestListContinuation", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListContinuation(ctx, t, h, nil)
	}},
	{name: "RunTestListContinuationWithFilter", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListContinuationWithFilter(ctx, t, h, nil)
	}},
	{name: "RunTestListPaginationRareObject", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListPaginationRareObject(ctx, t, h, nil)
	}},
	{name: "RunTestListInconsistentContinuation", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListInconsistentContinuation(ctx, t, h, h.compact)
	}},
	{name: "RunTestListResourceVersionMatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestListResourceVersionMatch(ctx, t, h.transformable())
	}},
	{name: "RunTestNamespaceScopedList", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestNamespaceScopedList(ctx, t, h)
	}},
	{name: "RunTestCompactRevision", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestCompactRevision(ctx, t, h, h.increase, h.compact)
	}},
	{name: "RunTestTransformationFailure", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestTransformationFailure(ctx, t, h.transformable())
	}},

	// Watches.
	{name: "RunTestWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatch(ctx, t, h)
	}},
	{name: "RunTestWatchFromZero", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchFromZero(ctx, t, h, h.compact)
	}},
	{name: "RunTestWatchFromNonZero", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchFromNonZero(ctx, t, h)
	}},
	{name: "RunTestDeleteTriggerWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDeleteTriggerWatch(ctx, t, h)
	}},
	{name: "RunTestDelayedWatchDelivery", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestDelayedWatchDelivery(ctx, t, h)
	}},
	{name: "RunTestWatchError", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchError(ctx, t, h.transformable())
	}},
	{name: "RunWatchErrorIsBlockingFurtherEvents", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchErrorIsBlockingFurtherEvents(ctx, t, h.transformable())
	}},
	{name: "RunTestWatchContextCancel", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchContextCancel(ctx, t, h)
	}},
	{name: "RunTestWatcherTimeout", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatcherTimeout(ctx, t, h)
	}},
	{name: "RunTestWatchDeleteEventObjectHaveLatestRV", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchDeleteEventObjectHaveLatestRV(ctx, t, h)
	}},
	{name: "RunTestWatchInitializationSignal", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchInitializationSignal(ctx, t, h)
	}},
	{name: "RunOptionalTestProgressNotify", run: func(ctx context.Context, t *testing.T, h *harness) {
		h.reportProgress(t, prefix+"test-ns/")
		suite.RunOptionalTestProgressNotify(ctx, t, h, h.increase)
	}},
	{name: "RunTestClusterScopedWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestClusterScopedWatch(ctx, t, h)
	}},
	{name: "RunTestNamespaceScopedWatch", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestNamespaceScopedWatch(ctx, t, h)
	}},
	{name: "RunTestWatchDispatchBookmarkEvents", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestWatchDispatchBookmarkEvents(ctx, t, h, true)
	}},
	{name: "RunTestOptionalWatchBookmarksWithCorrectResourceVersion", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(ctx, t, h)
	}},
	{name: "RunSendInitialEventsBackwardCompatibility", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunSendInitialEventsBackwardCompatibility(ctx, t, h)
	}},
	{name: "RunWatchSemantics", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchSemantics(ctx, t, h.fresh())
	}},
	{name: "RunWatchSemanticInitialEventsExtended", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchSemanticInitialEventsExtended(ctx, t, h.fresh())
	}},
	{name: "RunWatchListMatchSingle", run: func(ctx context.Context, t *testing.T, h *harness) {
		suite.RunWatchListMatchSingle(ctx, t, h.fresh())
	}},
}

func TestStore(t *testing.T) {
	for _, test := range wired {
		t.Run(test.name, func(t *testing.T) { test.run(context.Background(), t, newStore(t)) })
	}
}

func TestCacher(t *testing.T) {
	for _, test := range wired {
		if test.storeOnly == "" {
			t.Run(test.name, func(t *testing.T) { test.run(context.Background(), t, newCache(t)) })
		}
	}
}
