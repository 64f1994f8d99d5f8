import FoundationEssentials
import Glibc

/// How soon mac80211 notices that an access point is gone: some of its parameters, which it reads when a network is joined.
struct LossDetection {
    private let values: [String: Substring]

    /// As the kernel has them by itself.
    static let kernels = Self(values: ["beacon_loss_count": "7", "max_nullfunc_tries": "2", "probe_wait_ms": "500"])

    /// As a board has them where altnet is installed: what its udev rule says, in the sources that this was built from.
    static func boards() throws(LabError) -> Self {
        guard let rule else { throw LabError.lastCall("read \(rulePath)") }
        // ATTR{[module/mac80211]parameters/NAME}="VALUE"
        let settings = rule.split(separator: "ATTR{[module/mac80211]parameters/").dropFirst().compactMap { text in
            let words = text.split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
            return words.count > 1 && words[0].hasSuffix("}=") ? (String(words[0].dropLast(2)), words[1]) : nil
        }
        return Self(values: Dictionary(settings) { $1 })
    }

    /// Read once, because a scenario's time goes on meanwhile.
    private static let rule = try? String(contentsOfFile: rulePath, encoding: .utf8)
    private static let rulePath = Lab.checkout + "/board/udev/90-altnet-radio.rules"

    /// Counts for what is joined from now on.
    func apply() throws(LabError) {
        for (name, value) in values {
            let path = "/sys/module/mac80211/parameters/\(name)"
            let file = try FileDescriptor.open(path, O_WRONLY)
            guard write(file.number, String(value), value.utf8.count) == value.utf8.count else {
                throw .lastCall("set \(name) to \(value)")
            }
        }
    }
}
