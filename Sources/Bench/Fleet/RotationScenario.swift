/// Events at one device's home during a password change: a change of its router, and a power cut.
struct RotationScenario: Equatable {
    enum Router: Equatable {
        /// The router changes to the staged password.
        case newer
        /// The router keeps the old password, so the staged one is wrong.
        case old
        /// The router changes to a third password, so only the backup network works.
        case another
    }

    let router: Router
    /// Delay of the router's change, from the time at which the device has the staged password.
    let routerAfter: Duration
    /// Delay of the power cut, from the same time as `routerAfter`; nil for no power cut.
    let cutAfter: Duration?

    /// Upper limit of both delays in milliseconds. A cut can come before, during or after the router's change.
    static let span: Int64 = 60_000
    static let dark = Duration.seconds(10)

    /// Derives the events from the device's number. 10 % of the devices get a wrong password, 5 % lose power.
    init(of number: Int) {
        router = number % 10 != 3 ? .newer : number / 10 % 2 == 0 ? .old : .another
        routerAfter = .milliseconds(Self.part(of: number, salt: 1, Self.span))
        // Some devices with a power cut also have a wrong password.
        let isCut = number % 200 == 13 || number % 20 == 7 && number % 200 != 187
        cutAfter = isCut ? .milliseconds(Self.part(of: number, salt: 2, Self.span)) : nil
    }

    /// Returns a number from 0 to `count` - 1, derived from the device's number and the salt.
    static func part(of number: Int, salt: UInt64, _ count: Int64) -> Int64 {
        // Mix the bits as SplitMix64 does (Steele, Lea and Flood, 2014).
        var mixed = (UInt64(number) &+ 1) &* 0x9e37_79b9_7f4a_7c15 &+ salt &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int64((mixed ^ (mixed >> 31)) >> 1) % count
    }
}

package struct RotationChange: Sendable {
    package let changeId: String
    package let ssid: String
    package let password: String

    package init(changeId: String, ssid: String, password: String) {
        (self.changeId, self.ssid, self.password) = (changeId, ssid, password)
    }
}

/// Results of a password change, as numbers of devices.
package struct RotationOutcome: Sendable, Codable, Equatable {
    package var devices = 0
    /// Devices whose router gets the staged password. `committed` of them use only that password now.
    package var right = 0
    package var committed = 0
    /// Devices whose staged password is wrong. `undone` of them have dropped it.
    package var wrong = 0
    package var undone = 0
    package var cut = 0
    /// Devices that are connected to the broker at the end, through any network.
    package var connected = 0
    /// Memory of the process in KiB.
    package var memory = 0
    package var committedBySecond: [Int: Int] = [:]

    package init() {}

    package static func + (left: RotationOutcome, right: RotationOutcome) -> RotationOutcome {
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

    /// Seconds until this fraction (0 to 1) of the `right` devices had committed; nil if fewer have committed.
    package func seconds(untilCommitted part: Double) -> Int? {
        var sum = 0
        for second in committedBySecond.keys.sorted() {
            sum += committedBySecond[second] ?? 0
            if Double(sum) >= part * Double(right) { return second }
        }
        return nil
    }
}
