# Access authentication by hostapd's own EAP server: PEAP with MSCHAPv2, and TLS with a certificate of the client.

# certificate NAME SUBJECT: a key, and a certificate by the authority.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $OUT/$1.key -subj "/CN=$2" -out $OUT/$1.csr 2>/dev/null
  openssl x509 -req -in $OUT/$1.csr -CA $OUT/ca.pem -CAkey $OUT/ca.key -CAcreateserial -days 2 -out $OUT/$1.pem 2>/dev/null
}

stage_eap() {
  local method i count
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $OUT/ca.key -subj /CN=authority -days 2 -out $OUT/ca.pem 2>/dev/null
  certificate server server.test
  certificate car car.test
  printf '"car-tls" TLS\n"car" PEAP\n"car" MSCHAPV2 "secret" [2]\n' >$OUT/users
  point 1 wpa=2 wpa_key_mgmt=WPA-EAP rsn_pairwise=CCMP ieee8021x=1 eap_server=1 eap_user_file=$OUT/users ca_cert=$OUT/ca.pem \
    server_cert=$OUT/server.pem private_key=$OUT/server.key
  for method in PEAP TLS; do
    rm -f $OUT/attempts.jsonl
    if [ $method = PEAP ]; then
      supplicant 'ssid="hawser"' key_mgmt=WPA-EAP eap=PEAP 'identity="car"' 'password="secret"' 'phase2="auth=MSCHAPV2"' "ca_cert=\"$OUT/ca.pem\""
    else
      supplicant 'ssid="hawser"' key_mgmt=WPA-EAP eap=TLS 'identity="car-tls"' "ca_cert=\"$OUT/ca.pem\"" "client_cert=\"$OUT/car.pem\"" \
        "private_key=\"$OUT/car.key\""
    fi
    count=0
    for i in $(seq $ATTACHES); do
      detach
      serve 1 --no-ping
      rm -f $OUT/leases.json
      start_hawser --leases $OUT/leases.json -o $OUT/attempts.jsonl
      await 60 address && count=$((count + 1))
      stop
      # Or keys of the visit before would do.
      wpa pmksa_flush >/dev/null
    done
    result "eap $method=$(yes_if [ $count = $ATTACHES ]) count=$count of=$ATTACHES"
    sed "s/^/attempt $method /" $OUT/attempts.jsonl
    cat $OUT/hawser.err >&2
  done
}
