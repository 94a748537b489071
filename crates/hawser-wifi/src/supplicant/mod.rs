//! What wpa_supplicant says on its control socket: events, answers, and where the socket is.
