import AgentModel

/// What happens at one device's home while its fleet changes a password: to its router, and to its power.
struct StagedStory: Equatable {
    enum Router: Equatable {
        /// It gets the password that the fleet's owner has staged.
        case newer
        /// It keeps the old one: what was staged is wrong.
        case old
        /// It gets another one: what was staged is wrong, and the device can be in its backup network alone.
        case another
    }

    let router: Router
    /// From when the device has the newer password until its router changes.
    let routerAfter: Duration
    /// From then until its power is cut; nil where it is not.
    let cutAfter: Duration?

    /// Over how long the routers change, and the cuts come, so that a cut falls before, into or after the change.
    static let span: Int64 = 60_000
    /// How long a device is without power.
    static let dark = Duration.seconds(10)

    /// One in ten has a wrong password, one in twenty loses its power, by its number alone.
    init(of number: Int) {
        func part(_ salt: UInt64, _ count: Int64) -> Int64 {
            // SplitMix64's mixing (Steele, Lea and Flood, 2014).
            var mixed = (UInt64(number) &+ 1) &* 0x9e37_79b9_7f4a_7c15 &+ salt &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return Int64((mixed ^ (mixed >> 31)) >> 1) % count
        }
        router = number % 10 != 3 ? .newer : number / 10 % 2 == 0 ? .old : .another
        routerAfter = .milliseconds(part(1, Self.span))
        // Also of those with a wrong password some lose their power.
        let isCut = number % 200 == 13 || number % 20 == 7 && number % 200 != 187
        cutAfter = isCut ? .milliseconds(part(2, Self.span)) : nil
    }
}

/// A change of a password for all of a fleet.
package struct StagedChange: Sendable {
    package let changeId: String
    package let ssid: String
    package let password: String

    package init(changeId: String, ssid: String, password: String) {
        (self.changeId, self.ssid, self.password) = (changeId, ssid, password)
    }
}

/// What has become of the devices of a staged change.
package struct StagedOutcome: Sendable, Codable, Equatable {
    package var devices = 0
    /// Whose router has the newer password, and how many of them keep it alone.
    package var right = 0
    package var committed = 0
    /// For whom it is wrong, and how many of them have forgotten it.
    package var wrong = 0
    package var undone = 0
    /// Whose power was cut.
    package var cut = 0
    /// At the broker at the end, through any network.
    package var connected = 0
    /// In KiB, of the process.
    package var memory = 0
    /// Devices that have committed, by the second since the change began.
    package var committedBySecond: [Int: Int] = [:]

    package init() {}

    package static func + (left: StagedOutcome, right: StagedOutcome) -> StagedOutcome {
        var sum = left
        sum.devices += right.devices
        sum.right += right.right
        sum.committed += right.committed
        sum.wrong += right.wrong
        sum.undone += right.undone
        sum.cut += right.cut
        sum.connected += right.connected
        sum.memory += right.memory
        sum.committedBySecond.merge(right.committedBySecond, uniquingKeysWith: +)
        return sum
    }

    package var lost: Int { devices - connected }

    /// After how many seconds this part of those whose password is right had committed; nil where they have not.
    package func seconds(untilCommitted part: Double) -> Int? {
        var sum = 0
        for second in committedBySecond.keys.sorted() {
            sum += committedBySecond[second] ?? 0
            if Double(sum) >= part * Double(right) { return second }
        }
        return nil
    }
}
