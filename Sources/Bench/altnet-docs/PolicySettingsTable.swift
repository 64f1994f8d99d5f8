import Failover

/// Table of all settings of the policy.
enum PolicySettingsTable {
    static func text() throws -> String {
        var defaults = PolicySettings()
        defaults.validation = PolicySettings.Validation()
        var meanings = self.meanings
        var rows: [[String]] = []
        for setting in PolicySetting.all {
            let value = setting.value(in: defaults) ?? ""
            if setting.name.hasSuffix(last), let row = rows.indices.last {
                rows[row][0] += ", \(Markdown.code(setting.name))"
                rows[row][1] += ", \(value)"
                continue
            }
            let isFirst = setting.name.hasSuffix(first)
            let name = isFirst ? String(setting.name.dropLast(first.count)) : setting.name
            guard let meaning = meanings.removeValue(forKey: name) else { throw WrongMeaning(name: name) }
            rows.append([Markdown.code(setting.name), value, meaning])
        }
        if let name = meanings.keys.min() { throw WrongMeaning(name: name) }
        return """
            Names and values are those of `set` in a [scenario](../contributor/simulator.md#the-format) and of
            `altnet-lab replay --set`; a device has [other names](settings.md). The
            [failover rules](../contributor/failover-rules.md) say where each setting applies. A wait has two values: it
            grows from `first` to `last`. A program in parentheses is the source of a value; the other values are
            altnet's own. The policy refuses settings that contradict each other.

            \(Markdown.table(["setting", "default", "meaning"], rows))
            """
    }

    private static let (first, last) = (".first", ".last")

    /// A setting without a meaning, or a meaning without its setting.
    struct WrongMeaning: Error, CustomStringConvertible {
        let name: String

        var description: String {
            "the policy's setting \(name) is new or gone: correct PolicySettingsTable.meanings"
        }
    }

    /// Meanings by name. A wait has one, under its name without `.first`.
    private static let meanings = [
        "twoPointFour.weak": "Signal below which a link on 2.4 GHz is weak, in dBm (iwd).",
        "twoPointFour.critical": "Signal that a fading link on 2.4 GHz is about to reach, in dBm (iwd).",
        "twoPointFour.minimumSignal": "Minimum signal on 2.4 GHz to leave a link for, in dBm (Android).",
        "five.weak": "Signal below which a link on 5 or 6 GHz is weak, in dBm (iwd).",
        "five.critical": "Signal that a fading link on 5 or 6 GHz is about to reach, in dBm (iwd).",
        "five.minimumSignal": "Minimum signal on 5 or 6 GHz to leave a link for, in dBm (Android).",
        "margin": "Additional headroom of a better access point, in dB (between iwd and ESPHome).",
        "roamMargin": "Additional headroom while the link loses frames, in dB: 1 dB is a twelfth of them.",
        "recovery": "Distance above weak at which a weak link is fine again, in dB.",
        "returnHeadroom": "Minimum headroom for a return, and for a move (roam: half) despite the hourly limit, in dB.",
        "rescanDrop": "Fall of the signal since the last scan that causes another, in dB.",
        "unblockGain": "Gain of signal that ends a block, in dB (Android).",
        "switchLimit": "Maximum number of moves to other networks within `switchLimitWindow` (Android).",
        "roamLimit": "Maximum number of roams within `switchLimitWindow`.",
        "scanShare": "Air time for scans on a fine link, in thousandths.",
        "weakScanShare": "Air time for scans on a weak link, in thousandths.",
        "wrongKeyStrikes": "Wrong keys in a row that block (Android).",
        "transientStrikes": "Time-outs, early losses, or mixed failures in a row that block (Android).",
        "noAddressStrikes": "Missing addresses in a row that block (Android).",
        "calmSampling": "Interval of samples of a fine link.",
        "unsupervisedSampling": "Interval of samples if the driver reports no crossings, and after `patienceAfter`.",
        "alertSampling": "Interval of samples of a weak or congested link.",
        "criticalSampling": "Interval of samples of a breaking link.",
        "commandPatience": "Wait of a command for interface and wpa_supplicant.",
        "stayAfterCommand": "Time that a commanded network is not left for being weak (Android: 60 s).",
        "betweenSwitches": "Minimum age of a link that is left (Android).",
        "spareGrace": "Time that the old link stays after a move to the second station.",
        "switchLimitWindow": "Window of `switchLimit` and `roamLimit` (Android).",
        "preferredConfirmation": "Time for which scans must find the preferred network good.",
        "movePrice": "Price of the connections that end with a move.",
        "lossPrice": "Price of a loss: the time until the kernel reports it, 0.5 to 1.3 s.",
        "preferredWorth": "Time away from the preferred network that costs a second of outage.",
        "shortLink": "Age below which a lost link makes its network wait.",
        "reconnectWindow": "Time after a loss in which only known channels are scanned.",
        "reconnectScan": "Interval of scans within `reconnectWindow`.",
        "unverifiedLimit": "Time for the join of an unverified access point. hostapd refuses a wrong key after 4 s.",
        "patienceAfter": "Age of trouble from which a link is measured and scanned for less often.",
        "patientFullScan": "Wait between scans of all channels after an hour offline, or beside another uplink.",
        "scanReserve": "Air time that can be saved up. All channels take 9 s in domain US.",
        "scanInterval.unseenDelay": "Time from coming online to the first scan for networks never seen.",
        "scanLimit": "Time limit of a scan. All channels take up to 14 s.",
        "joinLimit": "Time for an access point to let the device in (Matter).",
        "addressLimit": "Time from association to an address and a route, and for a lost address to return.",
        "addressLimitAfterLeaving": "Time for an address after a working link was left. dhcpcd takes 6 to 7 s.",
        "usefulProbation": "Time with internet after which a network is trusted again.",
        "freshness": "Age of an observation up to which an access point is in range.",
        "reappearance": "Absence after which a network's return ends its blocks.",
        "sleepSuspicion": "Delay of a wake-up after which the device counts as having slept.",
        "interfaceGrace": "Wait before an interface that is down is brought up.",
        "returnsToPreferred": "Return to the preferred network.",
        "keepsStandby": "Keep another network ready on a second station.",
        "preferredScan": "Wait between scans for the preferred network: a 60th of the time away.",
        "weakScan": "Wait between scans on a weak or congested link (Android).",
        "criticalScan": "Wait between scans on a breaking link, or without internet.",
        "scanInterval.unseen": "Wait between scans of all channels on a fine link.",
        "fullScan": "Wait between scans of all channels while offline.",
        "scanInterval.known": "Wait between scans of known channels while offline: a 300th of the outage.",
        "retry": "Wait of a failed network before it is tried again, from the second failure on.",
        "wrongKeyBlock": "Block after wrong keys or a refused certificate (Android).",
        "transientBlock": "Block after a refusal, time-outs or early losses.",
        "failedMoveBlock": "Block after a failure for which a working link was left.",
        "fullBlock": "Block of a full access point.",
        "noAddressBlock": "Block after missing addresses.",
        "noInternetBlock": "Time that a network without internet ranks last.",
        "captiveBlock": "Time that a network with a login page ranks last.",
        "lastResort": "Wait before a blocked network is tried if nothing sound is in range (iwd).",
        "validation": "Probe links. Off if `ALTNET_REQUIRED_LEVEL` is `link`, and by default in a scenario.",
        "validation.interval": "Interval of probes while all is well (vintage_net, NetworkManager).",
        "validation.retry": "Interval of probes after a failure.",
        "validation.strikes": "Failures of the last five probes that mean no internet (vintage_net).",
        "validation.limit": "Time for a probe. A good one takes 0.1 s.",
        "validation.doubtLimit": "Time for a probe in doubt.",
        "validation.signInLimit": "Time by which a sign-in delays the verdict.",
    ]
}
