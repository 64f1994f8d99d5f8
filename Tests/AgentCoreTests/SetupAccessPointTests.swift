import AgentModel
import Randomness
import Testing

@testable import AgentCore

/// When the setup access point is wanted.
@Suite struct SetupAccessPointTests {
    private typealias Circumstances = SetupAccessPoint.Circumstances

    private static let lost = Circumstances(hasNetworks: true)
    private static let online = Circumstances(hasNetworks: true, isOnline: true)
    private static let new = Circumstances(hasNetworks: false)

    private var point = SetupAccessPoint(settings: SetupAccessPoint.Settings())
    private var now = Instant(milliseconds: 5_000_000)

    /// Time goes on, and the device scans all channels every 20 s meanwhile.
    private mutating func pass(
        _ time: Duration, _ circumstances: SetupAccessPoint.Circumstances, seeing hasKnown: Bool? = false
    ) {
        let end = now + time
        point.review(circumstances, at: now)
        while now < end {
            now = min(end, now + .seconds(20))
            if let hasKnown { point.scanned(hasKnown: hasKnown, isFull: true, at: now) }
            point.review(circumstances, at: now)
        }
    }

    @Test mutating func aNewDeviceOpensAtOnce() {
        point.review(Self.new, at: now)
        #expect(point.opening?.reason == .neverProvisioned && point.nextWake == nil)
        // However long that takes.
        pass(.seconds(100_000), Self.new)
        #expect(point.opening != nil)
    }

    @Test mutating func aDeviceWithManualNetworksAloneHasItsOwnReason() {
        point.review(Circumstances(hasNetworks: false, hasOnlyManual: true), at: now)
        #expect(point.opening?.reason == .onlyManual)
    }

    @Test mutating func aDeviceWithACableOpensByCommandAlone() {
        pass(.seconds(1000), Circumstances(hasNetworks: false, hasOtherUplink: true))
        #expect(point.opening == nil)
        point.open(by: .button, at: now)
        pass(.seconds(60), Circumstances(hasNetworks: false, hasOtherUplink: true))
        #expect(point.opening?.reason == .button)
    }

    @Test mutating func itOpensWhenNothingStoredWasSeenForAWhile() {
        pass(.seconds(280), Self.lost)
        #expect(point.opening == nil)
        pass(.seconds(40), Self.lost)
        #expect(point.opening?.reason == .nothingSeen)
    }

    @Test mutating func aNetworkThatIsSeenIsNotAway() {
        pass(.seconds(10_000), Self.lost, seeing: true)
        #expect(point.opening == nil)
        // One that was seen begins the time anew.
        pass(.seconds(280), Self.lost)
        #expect(point.opening == nil)
        pass(.seconds(40), Self.lost)
        #expect(point.opening?.reason == .nothingSeen)
    }

    @Test mutating func withoutAScanNothingIsKnownToBeAway() {
        pass(.seconds(10_000), Self.lost, seeing: nil)
        #expect(point.opening == nil && point.nextWake == nil)
        // Nor by one of a few channels.
        point.scanned(hasKnown: false, isFull: false, at: now)
        point.review(Self.lost, at: now)
        #expect(point.opening == nil)
    }

    @Test mutating func itOpensWhereTheNetworkThatIsSeenRefusesTheDevice() {
        pass(.seconds(20), Self.lost, seeing: true)
        point.failed(at: now)
        pass(.seconds(580), Self.lost, seeing: true)
        #expect(point.opening == nil)
        point.failed(at: now)
        pass(.seconds(40), Self.lost, seeing: true)
        #expect(point.opening?.reason == .nothingWorks)
    }

    @Test mutating func aRefusalBeforeTheDeviceWasOnlineIsOver() {
        pass(.seconds(20), Self.lost, seeing: true)
        point.failed(at: now)
        pass(.seconds(20), Self.online, seeing: true)
        pass(.seconds(5000), Self.lost, seeing: true)
        #expect(point.opening == nil)
    }

    @Test mutating func itClosesAsSoonAsTheDeviceIsOnline() {
        pass(.seconds(400), Self.lost)
        #expect(point.opening != nil)
        point.review(Self.online, at: now)
        #expect(point.opening == nil)
    }

    @Test mutating func aUserAtThePageSeesTheEnd() {
        point.review(Self.new, at: now)
        point.asked(at: now)
        #expect(point.isInUse(at: now))
        pass(.seconds(60), Circumstances(hasNetworks: true, isSwitching: true))
        pass(.seconds(40), Self.online)
        #expect(point.opening != nil)
        pass(.seconds(60), Self.online)
        #expect(point.opening == nil && !point.isInUse(at: now))
    }

    @Test mutating func byTheButtonItIsOpenForATime() {
        pass(.seconds(60), Self.online)
        point.open(by: .button, at: now)
        pass(.seconds(580), Self.online)
        #expect(point.opening?.reason == .button && point.closes != nil)
        // A question begins it anew.
        point.asked(at: now)
        pass(.seconds(580), Self.online)
        #expect(point.opening != nil)
        pass(.seconds(40), Self.online)
        #expect(point.opening == nil)
    }

    @Test mutating func whatWasAskedForIsOverWithTheNextNetwork() {
        pass(.seconds(60), Self.online)
        point.open(by: .command, at: now)
        pass(.seconds(20), Self.online)
        point.arrived()
        point.review(Self.online, at: now)
        #expect(point.opening == nil)
    }

    @Test mutating func closedByAUserItStaysClosedUntilTheDeviceWasConnected() {
        point.review(Self.new, at: now)
        point.close()
        pass(.seconds(5000), Self.new)
        #expect(point.opening == nil)
        pass(.seconds(20), Self.online)
        pass(.seconds(20), Self.new)
        #expect(point.opening?.reason == .neverProvisioned)
        point.close()
        point.open(by: .command, at: now)
        point.review(Self.new, at: now)
        #expect(point.opening?.reason == .command)
    }

    @Test mutating func aRestartOfTheAgentChangesNothing() {
        pass(.seconds(400), Self.lost)
        let opening = point.opening
        #expect(opening?.reason == .nothingSeen)
        point = SetupAccessPoint(settings: point.settings, opening: opening)
        point.review(Self.lost, at: now)
        #expect(point.opening == opening)
        point.review(Self.online, at: now)
        #expect(point.opening == nil)
    }

    /// Whatever happens: no trap, no opening without a reason, and no wake in the past.
    @Test(arguments: 0..<Rounds.of(400)) mutating func noHistoryMakesATrap(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let settings = point.settings
        var circumstances = Self.lost
        var (seenAt, failedAt, offlineSince): (Instant?, Instant?, Instant?) = (nil, nil, nil)
        point.review(circumstances, at: now)
        offlineSince = now
        for _ in 0..<200 {
            now = now + .seconds(Int.random(in: 0...400, using: &random))
            let before = point.opening
            var isUsers = false
            switch Int.random(in: 0...11, using: &random) {
            case 0...3: point.scanned(hasKnown: false, isFull: .random(using: &random), at: now)
            case 4:
                point.scanned(hasKnown: true, isFull: .random(using: &random), at: now)
                seenAt = now
            case 5:
                point.failed(at: now)
                failedAt = failedAt ?? now
            case 6: point.asked(at: now)
            case 7: circumstances.hasNetworks.toggle()
            case 8: circumstances.isOnline.toggle()
            case 9: circumstances.isSwitching.toggle()
            case 10:
                circumstances.hasOtherUplink.toggle()
            default:
                isUsers = true
                if .random(using: &random) { point.open(by: .button, at: now) } else { point.close() }
            }
            let isConnected = circumstances.isOnline || circumstances.hasOtherUplink
            if isConnected { (offlineSince, failedAt) = (nil, nil) } else { offlineSince = offlineSince ?? now }
            point.review(circumstances, at: now)
            #expect(point.nextWake.map { $0 > now } ?? true)
            guard before == nil, !isUsers, let opening = point.opening else { continue }
            #expect(!isConnected)
            switch opening.reason {
            case .neverProvisioned, .onlyManual: #expect(!circumstances.hasNetworks)
            case .nothingSeen:
                #expect(now - max(seenAt ?? .init(milliseconds: 0), offlineSince ?? now) >= settings.unseen)
            case .nothingWorks: #expect(failedAt.map { now - $0 >= settings.refused } ?? false)
            case .button, .command: Issue.record("nobody has asked for it")
            }
        }
        circumstances = Self.online
        point.review(circumstances, at: now)
        now = now + max(settings.idle, settings.requested)
        point.review(circumstances, at: now)
        #expect(point.opening == nil)
    }
}
