/// What the benchmark measures; the raw value names it on the command line and in files of results.
public enum Figure: String, Codable, CaseIterable, Sendable {
    case hardLoss24CN = "hard-loss-2.4-cn"
    case hardLoss5CN = "hard-loss-5-cn"
    case hardLoss24US = "hard-loss-2.4-us"
    case hardLoss5US = "hard-loss-5-us"
    case weakSignal = "weak-signal"
    case weakSignalGap = "weak-signal-gap"
    case weakSignalLost = "weak-signal-lost"
    case homeReturns = "home-returns"
    case coldStart = "cold-start"
    case wrongPassword40 = "wrong-password-40"
    case wrongPassword300 = "wrong-password-300"
    case restart
    case deauthentications
    case deauthenticationStorm = "deauthentication-storm"
    case deadInternet = "dead-internet"
    case commandGap = "command-gap"
    case commandLost = "command-lost"
    case memory
    case memoryAnonymous = "memory-anonymous"
    case memoryDirty = "memory-dirty"
    case idleSwitches = "idle-switches"
    case idleProcessor = "idle-processor"
    case idleDisk = "idle-disk"
    /// Of wpa_supplicant alone among a stack's programs, to hold altnet's idleness against.
    case supplicantSwitches = "supplicant-switches"
    case supplicantProcessor = "supplicant-processor"
    case floor
    case floorScan = "floor-scan"
    case floorJoin = "floor-join"
    case floorLease = "floor-lease"

    public enum Unit: String, Sendable {
        case seconds = "s"
        case megabytes = "MB"
        case timesPerMinute = "/min"
        case millisecondsPerMinute = "ms/min"
        case kilobytesPerHour = "KiB/h"
        case pings
    }

    public var unit: Unit {
        switch self {
        case .memory, .memoryAnonymous, .memoryDirty: .megabytes
        case .idleSwitches, .supplicantSwitches: .timesPerMinute
        case .idleProcessor, .supplicantProcessor: .millisecondsPerMinute
        case .idleDisk: .kilobytesPerHour
        case .weakSignalLost, .commandLost: .pings
        default: .seconds
        }
    }

    /// What it is, for a person.
    public var title: String {
        switch self {
        case .hardLoss24CN: "Access point's power cut, backup on 2.4 GHz, domain CN: until a ping"
        case .hardLoss5CN: "the same, backup on 5 GHz"
        case .hardLoss24US: "the same, backup on 2.4 GHz, domain US"
        case .hardLoss5US: "the same, backup on 5 GHz, domain US"
        case .weakSignal: "Signal falls to -85 dBm, backup at -40: until on the backup"
        case .weakSignalGap: "longest gap in a 20 ms ping of that move"
        case .weakSignalLost: "pings lost in that move"
        case .homeReturns: "Preferred network returns: until back on it"
        case .coldStart: "Cold start until a ping"
        case .wrongPassword40: "Backup's password wrong, home returns after 40 s: until a ping"
        case .wrongPassword300: "the same, home returns after 300 s"
        case .restart: "Access point restarts, away for 10 s: from its first beacon until a ping"
        case .deauthentications: "Ten broadcast deauthentications in 250 s: time without answers"
        case .deauthenticationStorm: "One every 5 s for 100 s: time without answers"
        case .deadInternet: "Internet cut behind a perfect signal: until a ping from the internet"
        case .commandGap: "Commanded switch: longest gap in a 20 ms ping"
        case .commandLost: "pings lost in that switch"
        case .memory: "Memory (PSS) of all processes"
        case .memoryAnonymous: "of that, backed by no file"
        case .memoryDirty: "of that, dirty"
        case .idleSwitches: "Context switches in an idle minute"
        case .idleProcessor: "Processor time in an idle minute"
        case .idleDisk: "Written to disk in an idle hour"
        case .supplicantSwitches: "Context switches of wpa_supplicant alone in an idle minute"
        case .supplicantProcessor: "Processor time of wpa_supplicant alone in an idle minute"
        case .floor: "Floor of a hard loss: three beacons, one channel scanned, join, lease"
        case .floorScan: "of that, the scan"
        case .floorJoin: "of that, the join"
        case .floorLease: "of that, the lease and the first ping"
        }
    }

    /// Those that are compared among stacks, in the order of the table.
    public static let compared: [Figure] = allCases.filter {
        ![.supplicantSwitches, .supplicantProcessor, .floor, .floorScan, .floorJoin, .floorLease].contains($0)
    }
}
