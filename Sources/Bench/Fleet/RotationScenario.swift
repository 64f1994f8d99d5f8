/// Events at one device's home during a password change: changes of its router and power cuts.
struct RotationScenario: Equatable {
    enum Router: Equatable {
        /// Changes to the staged password.
        case newer
        /// Keeps the old password, so the staged one is wrong.
        case old
        /// Changes to a third password, so only the backup network works.
        case another
    }

    let router: Router
    /// Time from the staging on the device to the router's change.
    let routerAfter: Duration
    /// Time from the staging to the power cut; nil for none.
    let cutAfter: Duration?

    /// Range of both delays in milliseconds, so that a cut can come before, during or after the change.
    static let span: Int64 = 60_000
    static let dark = Duration.seconds(10)

    /// Derives the story from the number: 10 % have a wrong password, 5 % lose power.
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
        // Includes devices with a wrong password.
        let isCut = number % 200 == 13 || number % 20 == 7 && number % 200 != 187
        cutAfter = isCut ? .milliseconds(part(2, Self.span)) : nil
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
    /// Devices whose router gets the staged password. `committed` of them have kept only that one.
    package var right = 0
    package var committed = 0
    /// Devices with a wrong password. `undone` of them have dropped it.
    package var wrong = 0
    package var undone = 0
    package var cut = 0
    /// Devices connected to the broker at the end, through any network.
    package var connected = 0
    /// Memory of the process, in KiB.
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

    /// Seconds until this part (0 to 1) of the `right` devices had committed; nil if fewer have.
    package func seconds(untilCommitted part: Double) -> Int? {
        var sum = 0
        for second in committedBySecond.keys.sorted() {
            sum += committedBySecond[second] ?? 0
            if Double(sum) >= part * Double(right) { return second }
        }
        return nil
    }
}
