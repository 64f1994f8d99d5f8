import Testing

@testable import Netlink

@Suite struct ScanTrackerTests {
    @Test func anOrdinaryScan() {
        var scans = ScanTracker()
        scans.request()
        #expect(!scans.isIdle)
        scans.started()
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: false) == false)
        #expect(scans.isIdle)
    }

    @Test func aScanThatEndsBeforeItsAcknowledgement() {
        var scans = ScanTracker()
        scans.request()
        scans.started()
        #expect(scans.ended(aborted: true) == nil)
        #expect(scans.accepted() == true)
        #expect(scans.isIdle)
    }

    @Test func theEndOfAnEarlierScanIsNotOurs() {
        var scans = ScanTracker()
        scans.started()
        scans.request()
        #expect(scans.ended(aborted: false) == nil)
        scans.started()
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: true) == true)
    }

    @Test func aWholeEarlierScanIsNotOurs() {
        var scans = ScanTracker()
        scans.request()
        scans.started()
        #expect(scans.ended(aborted: false) == nil)
        scans.started()
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: false) == false)
    }

    @Test func othersScansAreNothing() {
        var scans = ScanTracker()
        scans.started()
        #expect(scans.ended(aborted: false) == nil)
        #expect(scans.accepted() == nil)
        scans.request()
        scans.forget()
        #expect(scans.isIdle)
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: false) == nil)
    }
}
