/// Very many random histories, in which everything must hold.
package enum Campaign: String, CaseIterable, Sendable {
    /// Anything at any moment.
    case hostile
    /// A world that could be.
    case plausible
    /// Near-equal networks under noise.
    case nearEquals = "near-equals"

    /// The worst values, in histories in which everything held.
    package struct Worst: Sendable {
        package var histories = 0
        /// Offline with a usable access point in range that never failed, or that may have failed before.
        package var stranded = Duration.zero
        package var strandedAfterFailures = Duration.zero
        /// On a network without internet with a better one in range.
        package var withoutInternet = Duration.zero
        /// From a command to its outcome.
        package var outcome = Duration.zero
        /// How many of the hours among near-equal networks had so many switches.
        package var hours: [Int: Int] = [:]
        /// How many of the hostile histories have been through what.
        package var situations: [Situation: Int] = [:]

        package init() {}

        package static func += (left: inout Worst, right: Worst) {
            left.histories += right.histories
            left.stranded = max(left.stranded, right.stranded)
            left.strandedAfterFailures = max(left.strandedAfterFailures, right.strandedAfterFailures)
            left.withoutInternet = max(left.withoutInternet, right.withoutInternet)
            left.outcome = max(left.outcome, right.outcome)
            left.hours.merge(right.hours, uniquingKeysWith: +)
            left.situations.merge(right.situations, uniquingKeysWith: +)
        }
    }

    /// A property did not hold, and this is the shortest history found in which it does not.
    package struct Failure: Error, CustomStringConvertible {
        package let campaign: Campaign
        package let seed: UInt64
        package let violation: Violation
        package let story: String

        package var description: String { "\(campaign.rawValue), seed \(seed): \(violation)\n\(story)" }
    }

    /// - Parameter hours: length of a near-equal history.
    /// - Throws: the first failure, shrunk.
    package func run(seeds: some Sequence<UInt64>, hours: Int = 8) throws(Failure) -> Worst {
        var worst = Worst()
        for seed in seeds {
            switch self {
            case .hostile: worst += try hostile(seed)
            case .plausible: worst += try plausible(seed)
            case .nearEquals: worst += try nearEquals(seed, hours: hours)
            }
            worst.histories += 1
        }
        return worst
    }

    private func hostile(_ seed: UInt64) throws(Failure) -> Worst {
        let drawn = HostileHistory.random(seed: seed)
        if let violation = drawn.violation {
            throw Failure(campaign: self, seed: seed, violation: violation, story: drawn.history.shrunk().story)
        }
        var worst = Worst()
        worst.strandedAfterFailures = drawn.longestOffline
        for situation in drawn.situations { worst.situations[situation] = 1 }
        return worst
    }

    private func plausible(_ seed: UInt64) throws(Failure) -> Worst {
        let history = PlausibleHistory.random(seed: seed, length: 30)
        var world = World(settings: history.settings, traits: history.traits)
        if let violation = history.live(in: &world) {
            throw Failure(campaign: self, seed: seed, violation: violation, story: history.shrunk().story)
        }
        var worst = Worst()
        worst.stranded = world.liveness.longestStranded
        worst.strandedAfterFailures = world.liveness.longestAfterFailures
        worst.withoutInternet = world.liveness.longestWithoutInternet
        worst.outcome = world.watched.longestSwitch
        return worst
    }

    private func nearEquals(_ seed: UInt64, hours: Int) throws(Failure) -> Worst {
        do {
            var worst = Worst()
            let counts = try NearEquals(seed: seed, hours: hours).departuresPerHour
            for count in counts { worst.hours[count, default: 0] += 1 }
            return worst
        } catch {
            throw Failure(campaign: self, seed: seed, violation: error, story: "")
        }
    }

    /// Everything that the policy wants in a hostile history, in one number: the same in every run of every process.
    package static func digest(seed: UInt64) -> UInt64 {
        let history = HostileHistory.random(seed: seed).history
        // FNV-1a.
        return history.story.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
